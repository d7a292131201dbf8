"""The skeletons work as they are written: they say hello, and refuse what is not written yet."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import status_of
from conformance.cli.new_backend import smallest_contract
from conformance.tests.shipped import shipped_library

OPERATOR = "UML_OS.Data.SeededIntraBlockMap_v1"
PROGRAMS = {"python": (sys.executable, "backend.py"), "javascript": ("node", "backend.js")}


def talk(folder: Path, language: str, *requests: tuple[str, Any]) -> list[dict[str, Any]]:
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests)
    ]
    lines.append(json.dumps({"jsonrpc": "2.0", "method": "tally.bye"}))
    done = subprocess.run(
        PROGRAMS[language],
        cwd=folder,
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_skeleton_says_hello_and_names_what_is_not_written(
    language: str, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    tool(PROGRAMS[language][0])
    assert status_of(["new-backend", "--language", language, "--operator", OPERATOR, str(tmp_path / "mine")]) == 0
    hello, refusal = talk(tmp_path / "mine", language, ("tally.hello", {"protocol": 1}), (OPERATOR, {}))
    assert hello["result"]["operators"] == [OPERATOR]
    assert hello["result"]["name"] == "mine"
    assert refusal["id"] == 1
    suffix, function = ("py", "seeded_intra_block_map") if language == "python" else ("js", "seededIntraBlockMap")
    assert refusal["error"]["message"] == f"not written yet: {function} in operators.{suffix}"


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("named", ["Stream", "Stream.Advance"])
def test_a_machine_is_begun_with_all_of_its_methods(
    language: str, named: str, tmp_path: Path, tool: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    tool(PROGRAMS[language][0])
    assert status_of(["new-backend", "--language", language, "--operator", named, str(tmp_path / "mine")]) == 0
    assert capsys.readouterr().out.splitlines()[-2].endswith("-k Stream")
    hello, refusal = talk(tmp_path / "mine", language, ("tally.hello", {"protocol": 1}), ("Stream.NextChunk", {}))
    machine = shipped_library().contracts["Stream"].own_machine
    assert machine is not None
    assert hello["result"]["operators"] == sorted(machine.methods)
    suffix, function = ("py", "stream_next_chunk") if language == "python" else ("js", "streamNextChunk")
    assert refusal["error"]["message"] == f"not written yet: {function} in operators.{suffix}"
    text = (tmp_path / "mine" / f"operators.{suffix}").read_text("utf-8")
    for fact in ("the handle is open  else", "state afterwards:", "tokens: list<uint32>"):
        assert fact in text
    assert f"the {len(machine.methods)} methods of the machine Stream" in (tmp_path / "mine" / "README.md").read_text()


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_contract_stands_in_the_comment(language: str, tmp_path: Path) -> None:
    assert status_of(["new-backend", "--language", language, "--operator", OPERATOR, str(tmp_path)]) == 0
    text = next(tmp_path.glob("operators.*")).read_text("utf-8")
    for fact in ("block_id: uint64", "original_index: uint64", "block_size > 0u  else CONTRACT_VIOLATION (1801)"):
        assert fact in text
    assert "m = min(block_size, cardinality - block_start)" in text
    assert text.index("block_start = block_id * block_size") < text.index("m = min(")
    assert "@" not in text.replace("@Override", "")


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "operators.py").write_text("mine")
    assert status_of(["new-backend", "--language", "python", str(tmp_path)]) == 2
    assert "T005" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["operators.py"]
    assert (tmp_path / "operators.py").read_text() == "mine"


def test_the_command_that_is_printed_names_the_backend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["new-backend", "--language", "python", "--operator", OPERATOR, str(tmp_path)]) == 0
    assert (
        f"tally run --backend 'python {tmp_path}/backend.py' --profile quick -k {OPERATOR}" in capsys.readouterr().out
    )


def test_the_first_operator_has_nothing_to_parse() -> None:
    chosen = smallest_contract(shipped_library())
    assert chosen.purity == "pure"
    assert {str(field.type) for field in chosen.inputs.fields} <= {"uint64", "uint32", "bytes16", "bytes32", "bool"}
