"""The commands of pages that make the environment of a test, or need one of their own, and the place that runs each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from conformance.tests.processes import ROOT


@dataclass(frozen=True)
class Place:
    """A file of the checkout, and the lines in it that run the command: patterns, each found in it."""

    file: str
    lines: tuple[str, ...]

    def faults(self, text: str) -> Iterator[str]:
        """What the file does not say."""
        for line in self.lines:
            if re.search(line, text, re.MULTILINE) is None:
                yield f"{self.file}: nothing is like {line!r}"

    def read(self) -> str:
        """The text of the file."""
        return (ROOT / self.file).read_text("utf-8")


def session(name: str, how: str) -> Place:
    """`.ci/run` runs the session."""
    return Place(".ci/run", (rf"^(session|for one in)( \w+)*? {name}\b", INSTALLED, how))


INSTALLED: Final = r"^python -m pip install -q -c \S+ nox -e "
ALONE: Final = r'^ +conform \| backends \| torch\) python -m nox -s "\$1" ;;$'
SHARED: Final = r'^ +\*\) python -m nox --no-venv -s "\$1" ;;$'
TRANSCRIPT: Final = "conformance/tests/backend/test_transcript.py"
PACKAGING: Final = "conformance/tests/house/test_packaging.py"
WHEEL: Final = Place(PACKAGING, (r'return environment\(.*"wheel"\) / "venv", wheel\)$', r'installed / "bin" / "tally"'))
CHECKOUT: Final = Place(PACKAGING, (r'return environment\(.*, "-e", ROOT\)$', r'editable / "bin" / "tally"'))

SOURCE: Final = "npx quicktype --src-lang schema schema.json "
# `.ci/run` installs quicktype; npx would load it from a registry in each test.
TYPES: Final = MappingProxyType(
    {
        f"{SOURCE}--lang go --package main --out types.go": ("type Params struct {", 'json:"block_id"'),
        f"{SOURCE}--lang rust --visibility public --out types.rs": ("pub struct Params {", "pub block_id: String"),
        f"{SOURCE}--lang typescript --just-types --out types.ts": ("export interface Params {", "block_id:"),
    }
)

ELSEWHERE: Final[Mapping[str, Place]] = MappingProxyType(
    {
        "python -m pip install nox && python -m nox -s conform": session("conform", ALONE),
        "python -m pip install nox": Place(".ci/run", (INSTALLED,)),
        "python -m nox -s tests": session("tests", SHARED),
        "python -m nox -s reports -- --again": Place(
            ".github/workflows/nightly.yml",
            (r"session: \[.*\breports\]", r"matrix\.session == 'reports' && '-- --again'"),
        ),
        "python -m pip install -e .": CHECKOUT,
        "python -m pip install tallystick": WHEEL,
        "pip install tallystick": WHEEL,
        "python examples/batch/torch_batches.py": Place(
            "impl/tests/torch/test_torch_batches.py", (r'shlex\.split\("python examples/batch/torch_batches\.py"\)',)
        ),
        **dict.fromkeys(TYPES, Place(TRANSCRIPT, (r'parametrize\("command", TYPES\)',))),
    }
)
