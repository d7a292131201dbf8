"""Conversations with the provider of a file queue, whose root has files of all names and kinds, which come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from checks.generators.pickles import PickleWriter
from checks.generators.queue import FULL, ROOT, SCHEMAS, Scene, put_something, queue_name, schema_of
from conformance.trial.generator import Generator, Native

_SPLITS: Final = (["train"], ["val", "train"], ["train_rank0", "train"], ["train_rank10"], ["val", "val"])
_SEEDS: Final = (0, 429, 1337, 2**32, 2**63, 2**64 - 1)
_TIMES: Final = (0, 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1)
_ROLES: Final = ("input", "", "é", "\U0001f600", 'a"b', "\\", "\n", "\x7f")
_TASKS: Final = ("CLASSIFICATION", "CLASSIFICATION", "SEQUENCE_SCORING", "LM", "MLM", "TOKEN_CLASSIFICATION")
# What may be said of a size in the metadata beside the configuration.
_SIZES: Final = (1, 2, 2, 3, 2.0, True, "2", None, 0, -1)


def _metadata(draw: Random) -> dict[str, Any]:
    """What build_meta may return, in most cases rightly."""
    schema = schema_of(draw.choice(SCHEMAS))
    for one in schema:
        one |= {"role": draw.choice(_ROLES)} if draw.random() < 0.3 else {}
    meta: dict[str, Any] = {"dataset_name": draw.choice(["rows", "é"]), "batch_schema": schema}
    meta |= {"training_type": draw.choice(_TASKS), "split_info": {"train": {}, "val": {"n": 1}}}
    meta |= {"vocab_size": 7} if draw.random() < 0.9 else {}
    for name in ("vocab_size", "batch_size", "block_size", "target_size"):
        meta |= {name: draw.choice(_SIZES)} if draw.random() < 0.04 else {}
    meta |= {"extra": draw.choice([0.0, -0.0, 1, True, [1, "x"], {"k": None}])} if draw.random() < 0.3 else {}
    pairs = list(meta.items())
    draw.shuffle(pairs)
    return dict(pairs)


def _config(scene: Scene) -> dict[str, Any]:
    draw = scene.draw
    counts = {name: draw.choice([1, 2, 2, 3]) for name in ("batch_size", "batches_per_file", "max_backlog_files")}
    config: dict[str, Any] = {**counts, "sleep_seconds": 2.0, "seed": draw.choice(_SEEDS)}
    config |= {"verbose": False, "sampler": "counting"}
    config |= {"codec": scene.codec if scene.often(0.8) else draw.choice(["npz", "pt"])}
    for name in ("block_size", "target_size"):
        config |= {name: 2} if scene.often(0.9) else {}
    return config


def _filled(meta: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata with the sizes of the configuration where they are missing, as a provider writes them."""
    sizes = {name: config[name] for name in ("batch_size", "block_size", "target_size") if name in config}
    return {**sizes, **meta}


def _other(value: dict[str, Any], draw: Random) -> dict[str, Any]:
    """The metadata of another queue, which differs a little."""
    name = draw.choice(list(value))
    return draw.choice([{**value, name: 7}, {key: one for key, one in value.items() if key != name}, {**value, "k": 1}])


@dataclass(slots=True)
class ProviderScene(Scene):
    """A scene with the splits and the configuration of the provider that was opened first."""

    splits: Sequence[str] = ()
    config: dict[str, Any] = field(default_factory=dict)


Turn = Callable[[ProviderScene], None]


def _file(scene: ProviderScene) -> None:
    """Something has the name of a file of the queue, or one that is near to such a name."""
    scene.seq = scene.draw.choice([scene.seq + 1, scene.seq, scene.draw.choice([0, 5, 10**6, 2**64 - 2, 2**64 - 1])])
    path = f"queue/{scene.draw.choice(scene.splits)}/{queue_name(scene, scene.draw.choice(['npz', 'pt']))}"
    if scene.often(0.2):
        put_something(scene, path)
    else:
        scene.put(path, b"x")


def _leftover(scene: ProviderScene) -> None:
    """What an earlier provider left half written, or what has such a name."""
    draw = scene.draw
    folder = f"queue/{draw.choice(scene.splits)}"
    own = f".tmp-{draw.choice(_TIMES)}-{scene.seq:06}.{scene.codec}"
    name = draw.choice([own, own, ".tmp-", ".tmp-x", ".tmp", "x.tmp-"])
    kind = draw.choice(["file", "file", "folder", "link to a file", "link to a folder", "inside a folder"])
    if kind == "file":
        scene.put(f"{folder}/{name}", b"half")
    elif kind == "folder":
        scene.put(f"{folder}/{name}/x", b"")
    elif kind == "inside a folder":
        scene.put(f"{folder}/x/{name}", b"")
    else:
        scene.put("elsewhere/x", b"kept")
        target = "elsewhere" if kind == "link to a folder" else "elsewhere/x"
        scene.edit("link", path=f"{folder}/{name}", target=target, symbolic=True)


def _quarantine(scene: ProviderScene) -> None:
    draw = scene.draw
    folder = f"queue/quarantine/{draw.choice(scene.splits)}"
    if scene.often(0.2):
        scene.put(folder, b"")
        return
    for number in range(draw.choice([1, FULL - 1, FULL, FULL])):
        scene.put(f"{folder}/{draw.choice(['', '.'])}{number}{draw.choice(['', '', '/x'])}", b"x")
    if scene.often(0.3):
        scene.edit("delete", path=folder)


def _gone(scene: ProviderScene) -> None:
    """A file that was put goes, or the folder of a split, or it becomes a file or a link."""
    folder = scene.draw.choice(["queue", *(f"queue/{split}" for split in scene.splits)])
    if scene.often(0.7):
        scene.edit("delete", path=scene.draw.choice(scene.paths or [folder]))
        return
    scene.edit("delete", path=folder)
    if scene.often(0.3):
        scene.put(folder, b"")
    elif scene.often(0.4):
        scene.edit("link", path=folder, target=scene.draw.choice([folder, "nowhere"]), symbolic=True)


def _produce(scene: ProviderScene) -> None:
    """A turn, at a later time or at any."""
    now = scene.draw.choice(_TIMES) if scene.often(0.15) else len(scene.steps)
    scene.call("Produce", split=scene.draw.choice(scene.splits), now_ms=now)


def _consume(scene: ProviderScene) -> None:
    """A turn that makes a file, and a file of its name goes."""
    split, now = scene.draw.choice(scene.splits), len(scene.steps)
    scene.call("Produce", split=split, now_ms=now)
    name = f"{now}-{scene.draw.randrange(3):06}-{scene.config['batches_per_file']}.{scene.config['codec']}"
    scene.edit("delete", path=f"queue/{split}/{name}")


def _in_the_way(scene: ProviderScene) -> None:
    """Something has the name of the next file, or the one under which it is written."""
    draw = scene.draw
    split, now = draw.choice(scene.splits), len(scene.steps) + 10
    folder, codec = f"queue/{split}", scene.config["codec"]
    final = f"{folder}/{now}-{draw.randrange(3):06}-{scene.config['batches_per_file']}.{codec}"
    temporary = [f"{folder}/.tmp-{now}-{seq:06}.{codec}" for seq in range(3)]
    for path in draw.choice([[final], temporary]):
        if scene.often(0.5):
            put_something(scene, path)
        else:
            scene.put(path, b"in the way")
    scene.call("Produce", split=split, now_ms=now)
    scene.call("Produce", split=split, now_ms=now)


def _reopen(scene: ProviderScene) -> None:
    """Another provider opens, with the same configuration or a little other one."""
    if scene.often(0.5):
        scene.call("Close")
    changes: list[dict[str, Any]] = [{}, {}, {"seed": 5}, {"batches_per_file": 1}, {"max_backlog_files": 5}]
    changes.append({"meta": {**scene.config["meta"], "k": 1}})
    scene.call("Open", config={**scene.config, **scene.draw.choice(changes)})


_TURNS: Final[Mapping[Turn, int]] = {
    _produce: 8, _consume: 6, _file: 3, _leftover: 2, _quarantine: 1, _gone: 2, _in_the_way: 3, _reopen: 2,
}  # fmt: skip


def _meta_file(scene: Scene, meta: dict[str, Any], config: Mapping[str, Any]) -> None:
    """A meta.pkl is there before the provider opens."""
    path, draw = "meta.pkl", scene.draw
    filled = _filled(meta, config)
    written = filled if scene.often(0.85) else _other(filled, draw)
    content = PickleWriter(Random(draw.randrange(1000))).pickle(written)  # noqa: S311
    if scene.often(0.06):
        content = draw.choice([b"", content[:-1], content + b".", b"N."])
    if scene.often(0.05):
        put_something(scene, path)
    else:
        scene.put(path, content)


def provider_conversation(random: Random) -> Native:
    """A provider is opened over a root that is not empty, and takes turns while files come and go."""
    scene = ProviderScene(random, [], random.choice(["npz", "npz", "pt"]))
    scene.splits, meta, config = random.choice(_SPLITS), _metadata(random), _config(scene)
    scene.config = {**config, "meta": meta, **({"splits": scene.splits} if scene.often(0.9) else {})}
    if scene.often(0.4):
        _meta_file(scene, meta, config)
        scene.paths.clear()
    before: Sequence[Turn] = (_file, _leftover, _quarantine)
    for turn in random.choices(before, [4, 3, 1], k=random.randint(0, 4)):
        turn(scene)
    scene.call("Open", config=scene.config)
    for turn in random.choices(list(_TURNS), list(_TURNS.values()), k=random.randint(4, 16)):
        turn(scene)
    return {"root": ROOT, "steps": scene.steps}


GENERATORS: Final = (Generator("provider-conversation", provider_conversation),)
