"""The two derivations of the stream agree on random walks, and write the same checkpoints."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from impl.tests.stream_calls import JavaScript, Reference

Json = Any
STEPS = 40
OPERATIONS = ["NextChunk"] * 6 + ["Advance"] * 6 + ["Push"] * 2 + ["Reset", "Cursor", "Save", "Restore", "EndInput"]


@pytest.fixture(scope="module")
def both() -> Any:
    """One process of each."""
    javascript = JavaScript()
    yield Reference(), javascript
    javascript.finish()


class Walk:
    """One random walk, taken by both at once over folders of their own."""

    def __init__(self, both: Any, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.both = both
        self.roots = [folder / "one", folder / "two"]
        for root in self.roots:
            root.mkdir()
        world_size = self.chance.choice([1, 1, 2, 3, 5])
        self.place = {
            "source": self.source(),
            "rank": self.chance.randrange(world_size),
            "world_size": world_size,
            "cms_frequencies": self.chance.choice([["1"], ["1", "8", "64"], ["4", "8"]]),
        }
        self.handles = ["", ""]
        self.ask("Open", rooted=True, **self.place)

    def ask(self, method: str, rooted: bool = False, handled: bool = False, **params: Json) -> Json:
        """Ask both, hold one answer to the other, and keep the handles."""
        answers = []
        for k, one in enumerate(self.both):
            own = {"root": str(self.roots[k])} if rooted else {}
            answers.append(one.call(method, **params, **own, **({"handle": self.handles[k]} if handled else {})))
        if isinstance(answers[0], dict) and "handle" in answers[0]:
            self.handles = [answer.pop("handle") for answer in answers]
        assert answers[0] == answers[1], (method, params)
        return answers[0]

    def tokens(self, count: int) -> list[int]:
        return [self.chance.randrange(2**32 if self.chance.random() < 0.1 else 50) for _ in range(count)]

    def leaf(self) -> Json:
        count = self.chance.choice([0, 1, 5, 10, 255, 256, 257, 600])
        source: Json = {}
        if self.chance.random() < 0.5:
            source["boundaries"] = [str(n) for n in sorted(self.chance.randrange(count + 5) for _ in range(3))]
        if self.chance.random() < 0.8:
            source["on_end"] = self.chance.choice(["wrap", "stop"])
        items = self.tokens(count)
        if self.chance.random() < 0.6:
            return {"kind": "tokens", "tokens": items, **source}
        width = self.chance.choice([2, 4])
        name = f"file-{len(list(self.roots[0].iterdir()))}.bin"
        for root in self.roots:
            root.joinpath(name).write_bytes(b"".join((t % 2 ** (8 * width)).to_bytes(width, "little") for t in items))
        return {"kind": "file", "path": name, "dtype": f"u{8 * width}", **source}

    def source(self) -> Json:
        kind = self.chance.choice(["leaf", "leaf", "interleaved", "interactive", "shuffled"])
        if kind == "leaf":
            return self.leaf()
        if kind == "interactive":
            return {"kind": kind, "on_end": "stop"}
        on_end = self.chance.choice(["wrap", "stop"])
        if kind == "shuffled":
            return {"kind": kind, "parts": [self.leaf()], "seed": self.chance.randbytes(16).hex(), "on_end": on_end}
        count = self.chance.randrange(1, 4)
        pattern = [self.chance.randrange(count) for _ in range(self.chance.randrange(1, 5))]
        return {"kind": kind, "parts": [self.leaf() for _ in range(count)], "pattern": pattern, "on_end": on_end}

    def take(self, pulse: int) -> None:
        """One random step."""
        match self.chance.choice(OPERATIONS):
            case "NextChunk":
                self.ask("NextChunk", handled=True, chunk_size=str(self.chance.choice([1, 3, 4, 7, 100, 256, 300])))
            case "Advance":
                self.ask("Advance", handled=True, pulse_id=str(pulse))
            case "Push":
                items = self.tokens(self.chance.choice([0, 3, 500]))
                self.ask("Push", handled=True, tokens=items, boundary=self.chance.random() < 0.4)
            case "EndInput":
                if self.chance.random() < 0.3:
                    self.ask("EndInput", handled=True)
            case "Save":
                cursor = self.ask("Cursor", handled=True)["cursor"]
                stale = self.chance.random() < 0.1
                model = {"pulse_id": "0" if stale else cursor["pulse_id"], "state": "00ff"}
                self.ask("Checkpoint", rooted=True, handled=True, name="saved", model=model)
                files = [root / "saved" for root in self.roots]
                assert files[0].exists() == files[1].exists()
                assert not files[0].exists() or files[0].read_bytes() == files[1].read_bytes()
            case "Restore":
                changed = json.loads(json.dumps(self.place))
                if self.chance.random() < 0.1:
                    changed["world_size"] += 1
                first = (changed["source"].get("parts") or [changed["source"]])[0]
                if self.chance.random() < 0.1 and first.get("tokens"):
                    first["tokens"][0] ^= 1
                self.ask("Restore", rooted=True, name="saved", **changed)
            case method:
                self.ask(method, handled=True)


@pytest.mark.parametrize("seed", range(24))
def test_both_take_the_same_walk(both: Any, seed: int, tmp_path: Path) -> None:
    walk = Walk(both, seed, tmp_path)
    for pulse in range(1, STEPS + 1):
        walk.take(pulse)
