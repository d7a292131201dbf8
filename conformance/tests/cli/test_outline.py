"""A run of one check reads one contract: the ids of the others are known from an earlier command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.cache import MISSING, Cache
from conformance.contract.lazy import LazyMapping
from conformance.contract.library import Library, load_library
from conformance.contract.suite_file import read_suite
from conformance.tests import small_house
from conformance.tests.cli.test_cli_house import edit
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import copy_settings
from conformance.trial.options import RunOptions
from conformance.trial.plan import Plan
from conformance.vectors.frozen.corpus import Corpus, load_corpus

CHOSEN = ("Stream!handles", "Stream!shape", "Stream!bystanders", "Stream?fuzz", "Stream?files")
PERMUTE = small_house.OPERATOR


def plan_of(library: Library, corpus: Corpus, *select: str) -> Plan:
    return Plan(library, corpus, RunOptions(select=select), codebook_of(library))


def again(root: Path, at: Path) -> tuple[Library, Corpus]:
    """The contracts and cases of a copy, which this process has not read: entries of the cache go by content."""
    for name in ("spec", "vectors", "checks"):
        if (root / name).is_dir():
            shutil.copytree(root / name, at / name)
    copy_settings(root, at)
    suite = read_suite(at)
    return load_library(suite), load_corpus(suite)


def looked_at(values: object) -> set[str]:
    assert isinstance(values, LazyMapping)
    return {*values._made}


def test_a_selection_among_cached_outlines_is_a_part_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = shipped_library()
    corpus = load_corpus(library.suite)
    assert {**library.contracts}.keys() >= {**corpus.cases}.keys()  # all are read
    with monkeypatch.context() as patch:
        patch.setattr(Cache, "get", lambda *_: MISSING)
        whole = plan_of(library, corpus)
        assert whole.ids
    assert plan_of(library, corpus, "x").ids == whole.ids
    library, corpus = again(library.suite.root, tmp_path / "warm")
    warm = plan_of(library, corpus, *CHOSEN)
    assert warm.ids == whole.ids
    assert not looked_at(library.contracts)
    assert not looked_at(corpus.cases)
    laws = [id_ for id_ in warm.ids if id_.startswith("Stream#")]
    checks = {check for trial in warm.rule_trials([*CHOSEN, *laws]) for check in trial.checks}
    assert checks == {check for trial in whole.rule_trials([*CHOSEN, *laws]) for check in trial.checks}
    assert {check.id for check in checks} == {*laws, *CHOSEN[:3]}
    assert [one.check for one in warm.fuzzings(CHOSEN)] == [one.check for one in whole.fuzzed if one.check.id in CHOSEN]
    assert looked_at(corpus.cases) == {"Stream"}
    assert {name.partition(".")[0] for name in looked_at(library.contracts)} == {"Stream"}


@pytest.mark.usefixtures("cache")
def test_an_outline_does_not_outlive_a_change(built_once: Path, tmp_path: Path) -> None:
    """What a contract no longer names is no check any more, and what it names again is one."""

    def ids(number: int) -> frozenset[str]:
        return plan_of(*again(root, tmp_path / str(number)), "!").ids

    root = tmp_path / "house"
    shutil.copytree(built_once, root)
    before = ids(0)
    assert ids(1) == before
    assert f"{PERMUTE}!pure" in before
    laws = {id_ for id_ in before if id_.startswith(f"{PERMUTE}#")}
    assert laws
    file = root / small_house.CONTRACT
    text = file.read_text("utf-8")
    at = text.index("\nlaws:\n")
    end = text.index("\n", next(k for k in range(at + 7, len(text)) if text[k - 1] == "\n" and text[k].isalpha()) - 1)
    file.write_text(text[:at] + text[end:], "utf-8")
    assert ids(2) == before - laws
    file.write_text(text, "utf-8")
    assert ids(3) == before
    edit(file, "purity: pure", "purity: stateful")
    assert f"{PERMUTE}!pure" not in ids(4)
