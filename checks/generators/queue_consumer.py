"""Conversations with the consumer of a file queue, while files of all names and kinds come, change and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from checks.generators.batch_files import FAULTS
from checks.generators.pickles import PickleWriter
from checks.generators.queue import FULL, ROOT, SCHEMAS, Scene, batch_file, put_something, queue_name, schema_of
from conformance.trial.generator import Generator, Native

_ENOUGH: Final = 8  # batches of one row, until the file in hand has no more
_SPLITS: Final = ("train", "train", "train", "train", "val", "train_rank0", "train_rank10")


@dataclass(slots=True)
class ConsumerScene(Scene):
    """A scene with the split that the next turn is about."""

    split: str = ""
    legacy: bool = False  # whether its files have legacy names


def legacy_name(scene: ConsumerScene, codec: str) -> str:
    """The name of a legacy file, or one that is near to such a name."""
    draw = scene.draw
    number = draw.choice(["0", "1", "2", "10", "09", "", "a", "B", "é", "\uff5a", "\U0001f600"])
    name = f"{scene.split}_batches_{number}.{codec}"
    near = (f"x{name}", name.replace("batches", "Batches"), name.replace("_batches_", "_batches"), name.upper())
    return draw.choice((*near, f"{name}.tmp", name.replace(".", "_"))) if scene.often(0.2) else name


def _put_batch_file(scene: ConsumerScene) -> None:
    """A file comes under the next name, or under that of a damaged one; or something else has its name.

    A name is not used again where its file may be in memory: no sentence says which of the two is handed out then.
    """
    codec = scene.codec if scene.often(0.8) else ("npz", "pt")[scene.codec == "npz"]
    scene.seq += 1
    path = legacy_name(scene, codec) if scene.legacy else f"queue/{scene.split}/{queue_name(scene, codec)}"
    old = [path for path in scene.damaged if path.endswith(codec)]
    if old and scene.often(0.4):
        path = scene.draw.choice(old)
        scene.damaged.remove(path)
    elif path in scene.paths:
        return
    fault = scene.draw.choice(FAULTS[codec]) if scene.often(0.15) else ""
    if scene.often(0.1):
        put_something(scene, path)
    else:
        scene.put(path, batch_file(scene, codec, scene.split, fault))
        scene.damaged += [path] if fault else []


def _edit_old(scene: ConsumerScene) -> None:
    """A file that was put goes, or gets another name."""
    old = scene.draw.choice(scene.paths or ["nowhere"])
    folder = "" if scene.legacy else f"queue/{scene.split}/"
    other = folder + (legacy_name(scene, scene.codec) if scene.legacy else queue_name(scene, scene.codec))
    if scene.often(0.5) or other in scene.paths:
        scene.edit("delete", path=old)
    else:
        scene.edit("rename", **{"from": old, "to": other})
        scene.paths.append(other)


def _fill_quarantine(scene: ConsumerScene) -> None:
    """The quarantine gets things, as many as there may be or fewer, and the name of a damaged file is taken there."""
    draw = scene.draw
    scene.seq += 1
    name = queue_name(scene, scene.codec)
    _put_damaged(scene, f"queue/{scene.split}/{name}")
    taken = draw.choice([name, name, name, ".x", "x/y"])
    for number in range(draw.choice([1, 2, 11, FULL - 2, FULL - 1, FULL])):
        head, slash, rest = taken.partition("/")
        scene.put(f"queue/quarantine/{scene.split}/{head}{f'.{number}' if number else ''}{slash}{rest}", b"x")


def _close_quarantine(scene: ConsumerScene) -> None:
    """Nothing can be moved away until what has the name of the quarantine goes."""
    path = scene.draw.choice(["queue/quarantine", f"queue/quarantine/{scene.split}"])
    if path in scene.paths:
        scene.edit("delete", path=path)
        scene.paths.remove(path)
    else:
        scene.put(path, b"")
        _put_damaged(scene, f"queue/{scene.split}/{scene.seq}-0-1.{scene.codec}")


def _put_damaged(scene: Scene, path: str) -> None:
    if path not in scene.paths:
        scene.put(path, b"damaged")
        scene.damaged.append(path)


def _stand_in_the_way(scene: ConsumerScene) -> None:
    """A folder takes the place of the file in hand, which cannot be deleted then; it goes, or a new file comes."""
    scene.seq += 1
    path = f"queue/{scene.split}/0-{scene.seq}-1.{scene.codec}"
    content = batch_file(scene, scene.codec, scene.split)
    scene.put(path, content)
    scene.call("GetBatch", split=scene.split, timeout_ms=0)
    scene.edit("delete", path=path)
    scene.put(f"{path}/x", b"")
    for _ in range(scene.draw.randint(1, 3)):
        scene.draw.choice(_LOOKS)(scene)
    if scene.often(0.6):
        for _ in range(_ENOUGH):
            _take(scene)
        scene.edit("delete", path=path)
        scene.draw.choice(_LOOKS)(scene)
        scene.put(path, content)


def _open(scene: ConsumerScene) -> None:
    config: dict[str, Any] = {"prefer_queue": not scene.legacy or scene.often(0.5)}
    config["cache_files"] = scene.draw.choice([1, 1, 2, 3])
    config |= {"high_watermark": scene.draw.choice([1, 2]), "low_watermark": scene.draw.choice([0, 1])}
    config |= {"batch_size": scene.draw.choice([1, 2, 3])} if scene.often(0.6) else {}
    config |= {"codec": scene.codec} if scene.often(0.5) else {}
    scene.call("Open", config=config)


def _reopen(scene: ConsumerScene) -> None:
    if scene.often(0.5):
        scene.call("Close")
    _open(scene)


def _take(scene: ConsumerScene) -> None:
    scene.call("GetBatch", split=scene.split, timeout_ms=0)


def _wait(scene: ConsumerScene) -> None:
    scene.call("WaitForData", split=scene.split, timeout_ms=0)


def _reset(scene: ConsumerScene) -> None:
    scene.call("ResetState", **({"split": scene.split} if scene.often(0.5) else {}))


def _resize(scene: ConsumerScene) -> None:
    scene.call("SetBatchSize", batch_size=scene.draw.choice([1, 2, 3, 7]))


def _tell(scene: ConsumerScene) -> None:
    scene.call("Stats")


Turn = Callable[[ConsumerScene], None]
_LOOKS: Final[Sequence[Turn]] = (_take, _take, _wait, _tell, _reset)
# What may happen, and how often.
_TURNS: Final[Mapping[Turn, int]] = {
    _take: 14,
    _wait: 3,
    _tell: 3,
    _reset: 1,
    _resize: 1,
    _put_batch_file: 9,
    _edit_old: 3,
    _fill_quarantine: 1,
    _close_quarantine: 1,
    _stand_in_the_way: 1,
    _reopen: 1,
}


# What may have the name of the queue beside legacy files.
_ODD_QUEUES: Final[Sequence[Callable[[Scene], None]]] = (
    lambda scene: scene.put("queue", b""),
    lambda scene: scene.put("queue/x", b""),
    lambda scene: scene.put("queue/val/x", b""),
    lambda scene: scene.edit("link", path="queue", target="nowhere", symbolic=True),
)


def consumer_conversation(random: Random) -> Native:
    """A consumer is opened over a few files, and takes batches while they change."""
    scene = ConsumerScene(random, schema_of(random.choice(SCHEMAS)), random.choice(["npz", "npz", "npz", "pt"]))
    scene.legacy = scene.often(0.25)
    scene.split = main = random.choice(_SPLITS[2:])
    meta = {"dataset_name": "rows", "training_type": "CLASSIFICATION", "batch_size": 2, "batch_schema": scene.schema}
    meta["split_info"] = {"train": {}, "val": {}}
    scene.put("meta.pkl", PickleWriter(Random(0)).pickle(meta))  # noqa: S311
    scene.paths.clear()
    for _ in range(random.randint(1, 4)):
        _put_batch_file(scene)
    if scene.legacy and scene.often(0.4):
        random.choice(_ODD_QUEUES)(scene)
    _open(scene)
    for turn in random.choices(list(_TURNS), list(_TURNS.values()), k=random.randint(8, 24)):
        scene.split = main if scene.often(0.85) else random.choice(_SPLITS)
        turn(scene)
    scene.call("Stats")
    return {"root": ROOT, "steps": scene.steps}


GENERATORS: Final = (Generator("consumer-conversation", consumer_conversation),)
