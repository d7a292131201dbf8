"""Cases at a limit and one above it, for every unit that a guard counts and for letters of every length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.cel.syntax import SizeLimit, size_limits
from conformance.contract.yaml.source import MalformedContract
from conformance.tests.small_spec import CONTRACT, load
from conformance.vectors.questions.expand import expand

GROUP = "  - group: long\n    why: It is bounded.\n    requirement: N01\n    base: four\n    set: {label: a}\n"


def contract(that: str, grow: str = "label", type_: str = "string", base: str = "a") -> str:
    guard = f'  - {{id: short, that: "{that}", unit: bytes, else: CONTRACT_VIOLATION, requirement: N01}}\n'
    text = CONTRACT.replace("ensures:\n", f"{guard}ensures:\n").replace("type: string", f"type: {type_}")
    return text + GROUP.replace("label: a", f"label: {base}") + f"    limit: short\n    grow: {grow}\n"


def made(root: Path, text: str) -> dict[str, Any]:
    codebook = codebook_of(load(root, text))
    (forms,) = codebook.forms.values()
    questions = [one for one in expand(forms.contract, codebook) if one.group == "long"]
    return {one.id.rsplit("::", 1)[1]: one.calls[0].inputs["label"] for one in questions}


def test_lists_and_byte_strings_grow_by_items_and_bytes(tmp_path: Path) -> None:
    lists = made(tmp_path / "a", contract("size(label) <= 9", type_="list<uint8>", base="[7]"))
    assert lists == {"longest": [7] * 9, "one-more": [7] * 10}
    strings = made(tmp_path / "b", contract("size(label) <= 9", type_="bytes", base='"00"'))
    assert strings == {"longest": "00" * 9, "one-more": "00" * 10}


@pytest.mark.parametrize(
    ("that", "grow", "said"),
    [
        ("size(label) > 3", "label", "'short' is no guard that bounds one size"),
        ("size(label) <= 9", "salt", "ill-typed input salt"),
        ("size(label) <= 9", "lable", "unknown path 'lable'"),
    ],
)
def test_a_limit_that_cannot_be_met_is_told_at_its_place(tmp_path: Path, that: str, grow: str, said: str) -> None:
    with pytest.raises(MalformedContract) as caught:
        made(tmp_path, contract(that, grow))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("size(bytes(name)) <= 4096", [SizeLimit("size(bytes(name))", "bytes(name)", 4096)]),
        ("uint(size(name)) < 10u && whole > 3u", [SizeLimit("size(name)", "name", 9)]),
        ("!has_name || 9 >= size(name)", [SizeLimit("size(name)", "name", 9)]),
        ("size(name) + size(other) <= 9", []),
        ("size(name) <= limit", []),
        ("size(name) == 9", []),
    ],
)
def test_limits_are_read_off_comparisons_of_a_size_with_a_number(text: str, limits: list[SizeLimit]) -> None:
    assert list(size_limits(text)) == limits
