"""Laws of the file queue: the same calls get the same answers whatever is called, or lies in the queue, beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from checks.laws.pipeline import CONSUMER, DTYPES, PROVIDER, Folder, consumer_config, metadata, provider_config
from conformance.trial.law import Asking, Law, LawTalk, Tools, law_root, must_equal

Said = tuple[str, Any, list[str]]  # a method, its answer, and the files after it
Line = Sequence[tuple[str, dict[str, Any]]]  # the calls of one split: a machine, and the inputs besides the split
_LOOKS: Final[Sequence[tuple[str, dict[str, Any]]]] = (
    ("WaitForData", {"split": "train", "timeout_ms": 0}),
    ("Stats", {}),
    ("Schema", {"split": "train"}),
)
_TIMES_MS: Final = (5, 3, 9, 9, 20)


def _codecs_alike(tools: Tools, size: int, cache_files: int) -> LawTalk:
    """A provider and a consumer of each codec get the same calls."""
    expected = yield from _run(tools, "npz", size, cache_files)
    told = yield from _run(tools, "pt", size, cache_files)
    must_equal(expected, told, "answers, refusals and files with the codec pt, compared with npz")


def _looks_change_nothing(tools: Tools, size: int, cache_files: int, codec: str) -> LawTalk:
    """The second time the consumer looks for data, figures and schema before every other call."""
    expected = yield from _run(tools, codec, size, cache_files)
    told = yield from _run(tools, codec, size, cache_files, _LOOKS)
    must_equal(_answers(expected), _answers(told), "answers and refusals with looks between them, compared with none")
    must_equal(expected[-1], told[-1], "the end with looks between the calls, compared with none")


def _answers(said: Sequence[Said]) -> list[tuple[str, Any]]:
    """What batches and turns said; a look may move a damaged file away before its turn."""
    return [(method, answer) for method, answer, _ in said if method not in dict(_LOOKS)]


def _run(
    tools: Tools, codec: str, size: int, cache_files: int, looks: Sequence[tuple[str, Mapping[str, Any]]] = ()
) -> Asking[list[Said]]:
    """What a provider and a consumer say when files are made, damaged, renamed, read and waited for."""
    schema = [{"name": f"of_{dtype}", "dtype": dtype, "shape": [2] * (k % 3)} for k, dtype in enumerate(DTYPES)]
    with law_root() as root:
        folder = Folder(tools, root)
        provider = yield from folder.open(PROVIDER, provider_config(metadata(3, schema), 2, 9, codec))
        consumer = yield from folder.open(CONSUMER, consumer_config(size, cache_files, codec))
        said: list[Said] = []

        def note(machine: str, method: str, **inputs: Any) -> Asking[None]:
            answer = yield from folder.say(machine, method, provider if machine == PROVIDER else consumer, **inputs)
            said.append((method, _without_codec(answer), folder.files()))

        def get(times: int, split: str = "train") -> Asking[None]:
            for _ in range(times):
                for look, inputs in looks:
                    yield from folder.say(CONSUMER, look, consumer, **inputs)
                yield from note(CONSUMER, "GetBatch", split=split, timeout_ms=0)

        yield from note(CONSUMER, "GetBatch", split="train", timeout_ms=0)
        for now_ms in _TIMES_MS:
            yield from note(PROVIDER, "Produce", split="train", now_ms=now_ms)
        yield from note(PROVIDER, "Produce", split="val", now_ms=20)
        queue = root / "queue/train"
        third, fourth = sorted(queue.iterdir())[1:3]
        third.write_bytes(third.read_bytes()[:-1])  # damage
        fourth.rename(fourth.with_name(fourth.name.replace("-2.", "-3.")))  # its metadata say 2 batches
        (queue / f"junk{fourth.suffix}").write_bytes(b"")
        yield from note(CONSUMER, "WaitForData", split="train", timeout_ms=0)
        yield from get(2)
        yield from note(CONSUMER, "ResetState", split="train")
        yield from get(1)
        yield from note(CONSUMER, "SetBatchSize", batch_size=size + 1)
        yield from get(4)
        yield from note(CONSUMER, "Stats")
        yield from get(12)
        yield from get(2, "val")
        yield from note(CONSUMER, "WaitForData", split="train", timeout_ms=0)
        yield from note(CONSUMER, "Stats")
        return said


def _without_codec(answer: Any) -> Any:
    """An answer with lists for tensors, and paths without their endings."""
    if isinstance(answer, dict):
        return {key: _without_codec(item) for key, item in answer.items()}
    if isinstance(answer, list):
        return [_without_codec(item) for item in answer]
    if isinstance(answer, str):
        return answer.removesuffix(".npz").removesuffix(".pt")
    return np.asarray(answer).tolist() if isinstance(answer, np.ndarray) else answer


def _splits_apart(tools: Tools, size: int, cache_files: int, splits: str) -> LawTalk:
    """All splits by turns in one queue, compared with each split in a queue of its own."""
    lines = {split: _line(number) for number, split in enumerate(splits.split("+"))}
    together = yield from _turns(tools, size, cache_files, lines)
    for split, line in lines.items():
        alone = yield from _turns(tools, size, cache_files, {split: line})
        must_equal(alone[split], together[split], f"the split {split} beside others, compared with it alone")


def _turns(tools: Tools, size: int, cache_files: int, lines: Mapping[str, Line]) -> Asking[dict[str, list[Any]]]:
    """What is said of each split when files are made and read; the calls of the splits come by turns."""
    schema = [{"name": "row", "dtype": "uint16", "shape": []}]
    with law_root() as root:
        folder = Folder(tools, root)
        config = provider_config(metadata(2, schema), 3, 2)
        provider = yield from folder.open(PROVIDER, {**config, "splits": list(lines)})
        consumer = yield from folder.open(CONSUMER, consumer_config(size, cache_files))
        said: dict[str, list[Any]] = {split: [] for split in lines}
        for turn in zip_longest(*lines.values()):
            for split, (machine, inputs) in ((split, call) for split, call in zip(lines, turn, strict=True) if call):
                method = "Produce" if machine == PROVIDER else "GetBatch"
                handle = provider if machine == PROVIDER else consumer
                said[split].append((yield from folder.say(machine, method, handle, split=split, **inputs)))
                stats = yield from folder.say(CONSUMER, "Stats", consumer)
                said[split].append(stats["splits"].get(split))
        return {split: [_without_codec(one) for one in answers] for split, answers in said.items()}


def _line(number: int) -> Line:
    """The calls of one split; each has times and a rhythm of its own."""
    made = [(PROVIDER, {"now_ms": 100 * number + now_ms}) for now_ms in _TIMES_MS]
    taken = [(CONSUMER, {"timeout_ms": 0})] * (2 + number)
    return [call for turn in made for call in (turn, *taken)] + [*taken, *taken]


LAWS: Final = (
    Law("queue-codecs-alike", _codecs_alike, {"size": [2, 5], "cache_files": [1, 3]}),
    Law(
        "queue-looks-change-nothing",
        _looks_change_nothing,
        {"size": [2, 5], "cache_files": [1, 3], "codec": ["npz", "pt"]},
    ),
    Law(
        "queue-splits-apart",
        _splits_apart,
        {"size": [2, 4], "cache_files": [1, 2], "splits": ["train+val", "val+train_rank1+train_rank0"]},
    ),
)
