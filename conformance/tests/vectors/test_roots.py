"""Roots and handles: real on every carrier and wire, named everywhere else, gone afterwards."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checks.laws.checkpoint import READ
from conformance.backend.driver import Call, Conversation, Driver
from conformance.backend.outcome import BadAnswer, ObservedResult, RawResult, observe
from conformance.backend.resolve import BackendCommand
from conformance.cli.console import CommandError
from conformance.cli.interview import pair_of
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.jsonschema import schema_of
from conformance.contract.library import Library
from conformance.tests.keep_spec import ADD, FETCH, KEEP, KEEP_HEAD, OPEN, load
from conformance.tests.processes import ROOT
from conformance.tests.shipped import shipped_library
from conformance.trial import law
from conformance.trial.law import LawBroken, law_root
from conformance.vectors.case import FileStep, QuestionCall, RestartStep, TreeStep
from conformance.vectors.conversation.exchange import Transcript, exchanges
from conformance.vectors.files.temp_roots import Roots
from conformance.vectors.frozen.lock import contract_digest

MODULE = '''\
"""Keeps files and totals."""
import os, time

opened = {}


class Keeper:
    def hello(self):
        return {"name": "keeper", "version": "1", "operators": OPERATORS, "max_in_flight": 4}

    def call(self, method, params):
        if method.endswith("Open_v1"):
            opened[f"h{len(opened)}"] = 0
            return {"handle": f"h{len(opened) - 1}"}
        if method.endswith("Add_v1"):
            opened[params["handle"]] += params["number"]
            return {"total": opened[params["handle"]]}
        assert os.path.isabs(params["root"]) and os.path.isdir(params["root"])
        path = os.path.join(params["root"], params["name"])
        if method.endswith("Fetch_v1"):
            with open(path, "rb") as file:
                return {"content": file.read(), "path": path}
        with open(path, "wb") as file:
            file.write(params["content"])
        return {"size": len(params["content"]), "took": time.monotonic_ns()}
'''

STEPS = (
    QuestionCall("keep", KEEP, {"root": {"root": "a"}, "name": "x", "content": "0001"}),
    TreeStep("a", ".", {"*": "bytes"}),
    RestartStep(),
    QuestionCall("fetch", FETCH, {"root": {"root": "a"}, "name": "x"}),
    QuestionCall("open", OPEN, {}),
    QuestionCall("other", OPEN, {"root": {"root": "b"}}),
    QuestionCall("one", ADD, {"handle": {"from": "open.handle"}, "number": "1"}),
    QuestionCall("two", ADD, {"handle": {"from": "open.handle"}, "number": "2"}),
    QuestionCall("three", ADD, {"handle": {"from": "other.handle"}, "number": {"from": "two.total"}}),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    text = f"{MODULE}\n\nOPERATORS = {[KEEP, FETCH, OPEN, ADD]}\n"
    (folder / "keeper_of_tests.py").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def library(home: Path) -> Library:
    return load(home)


@pytest.fixture(scope="module")
def codebook(library: Library) -> Codebook:
    return codebook_of(library)


@pytest.fixture
def folder(tmp_path: Path, temporary: Callable[[Path], Path]) -> Iterator[Path]:
    folder = temporary(tmp_path / "temporary")
    yield folder
    # The folder of the roots goes with the process.
    assert list(folder.glob("*/*")) == []


def held(home: Path, codebook: Codebook, wire: str, in_process: bool) -> Transcript:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(home)]), "TALLY_WIRE": wire}
    target = "keeper_of_tests:Keeper"
    worker = (sys.executable, "-P", "-m", "conformance.backend.worker", target, str(home / "spec"))
    command = BackendCommand("keeper", worker, environment, target if in_process else "")
    driver = Driver(command, DIALECTS[wire], codebook, 20.0)
    talk = Conversation("all", lambda: exchanges(STEPS, codebook, DIALECTS[wire]), alone=True)
    (finished,) = driver.run([talk])
    assert finished.lost is None, finished.stderr
    assert finished.finding is not None
    return finished.finding


@pytest.mark.parametrize("in_process", [False, True], ids=["worker", "in-process"])
@pytest.mark.parametrize("wire", ["json", "cbor"])
def test_every_carrier_and_wire_gets_real_directories_and_real_handles(
    home: Path, codebook: Codebook, folder: Path, monkeypatch: pytest.MonkeyPatch, wire: str, in_process: bool
) -> None:
    monkeypatch.syspath_prepend(str(home))
    found = held(home, codebook, wire, in_process)
    assert found.fault == ""
    assert found.trees == {"tree-2": {"x": {"decoded": "0001"}}}
    fields = {one.step: one.observed.fields for one in found.exchanges if isinstance(one.observed, ObservedResult)}
    assert fields == {
        "keep": {"size": "2"},
        "fetch": {"content": "0001", "path": "{root:a}/x"},
        "open": {},
        "other": {},
        "one": {"total": "1"},
        "two": {"total": "3"},
        "three": {"total": "3"},
    }


def test_what_is_shown_of_a_call_holds_neither_path_nor_handle(home: Path, codebook: Codebook, folder: Path) -> None:
    inputs = {one.step: one.inputs for one in held(home, codebook, "json", False).exchanges}
    assert inputs["keep"]["root"] == {"root": "a"}
    assert inputs["three"] == {"handle": {"from": "other.handle"}, "number": "3"}


def test_a_step_that_uses_the_handle_of_a_failed_step_ends_the_walk(codebook: Codebook) -> None:
    talk = exchanges(STEPS[4:5] + STEPS[6:7], codebook, DIALECTS["json"])
    next(talk)
    with pytest.raises(StopIteration) as end:
        talk.send([RawResult({"handle": 7})])
    assert end.value.value.fault.startswith("step one uses what an earlier step did not answer (step open: ")


def test_an_ill_typed_handle_or_duration_is_refused_without_being_shown(codebook: Codebook) -> None:
    for value in ({"handle": 123456789}, {"handle": None}):
        found = observe(RawResult(value), OPEN, codebook, DIALECTS["json"])
        assert isinstance(found, BadAnswer)
        assert "123456789" not in str(found.error)
        assert found.error.path == ("handle",)
    timed = observe(RawResult({"size": "2", "took": "-123456789"}), KEEP, codebook, DIALECTS["json"])
    assert isinstance(timed, BadAnswer)
    assert "123456789" not in str(timed.error)


def test_answers_are_equal_whatever_their_handles(codebook: Codebook) -> None:
    one, two = (observe(RawResult({"handle": text}), OPEN, codebook, DIALECTS["json"]) for text in "ab")
    assert one == two
    assert isinstance(one, ObservedResult)
    assert one.fields == {}
    assert dict(one.handles) == {"handle": "a"}


def test_the_schema_of_a_request_says_text(library: Library) -> None:
    definitions: dict[str, Any] = schema_of(library.contracts[KEEP], library.errors)["$defs"]
    assert definitions["params"]["properties"]["root"] == {"type": "string", "format": "root"}
    assert definitions["failure"]["properties"]["failure_code"] == {"type": "string"}
    given = schema_of(library.contracts[OPEN], library.errors)["$defs"]["result"]["properties"]["handle"]
    assert given["type"] == "string"
    assert "volatile" in given["$comment"]


def test_an_optional_root_has_a_companion_and_no_value(library: Library) -> None:
    environment = library.contracts[OPEN].environment
    assert environment.compile("has_root").holds(environment.bind({"root": {"root": "a"}}))
    assert not environment.compile("has_root").holds(environment.bind({}))


# -- the roots of one conversation


def test_a_root_is_fresh_empty_and_the_same_for_one_conversation(folder: Path) -> None:
    with Roots() as one, Roots() as two:
        assert one.path("a") == one.path("a")
        assert len({one.path("a"), one.path("b"), two.path("a")}) == 3
        assert list(one.path("a").iterdir()) == []
        assert one.path("a").is_absolute()
        assert one.names == ("a", "b")


def test_a_root_lies_alone_in_its_folder_and_what_is_left_beside_it_is_seen(folder: Path) -> None:
    with Roots() as roots:
        root = roots.path("a")
        assert roots.beside("a") == [root.name]
        Path(f"{root}.lock").touch()
        assert roots.beside("a") == [root.name, f"{root.name}.lock"]
        roots.path("a/inner")
        assert roots.beside("a/inner") == []
        root.parent.rename(folder / "elsewhere")
        assert roots.beside("a") == []
        (folder / "elsewhere").rename(root.parent)
    assert not root.parent.exists()


def test_a_root_in_a_root_is_made_once_so_that_a_step_can_take_it_away(folder: Path) -> None:
    with Roots() as roots:
        inner = roots.path("a/gone")
        inner.rmdir()
        assert roots.path("a/gone") == inner
        assert not inner.exists()
        (roots.path("a") / "file").touch()
        assert roots.path("a/file").is_file()


def test_conversations_of_the_same_places_have_the_same_paths_and_nothing_in_them(folder: Path) -> None:
    places: dict[str, Path] = {}
    with Roots(places) as one:
        first = one.path("a")
        (first / "x").touch()
    assert not first.exists()
    with Roots(places) as other:
        assert (other.path("a"), list(first.iterdir())) == (first, [])


def test_rooms_are_removed_with_all_they_hold_and_nothing_more(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "kept").write_text("kept")
    with Roots() as roots:
        root = roots.path("a")
        (root / "d" / "e").mkdir(parents=True)
        (root / "d" / "out").symlink_to(outside)
        (root / "d").chmod(0o000)
    assert (outside / "kept").read_text() == "kept"
    assert outside.stat().st_mode & 0o777 == 0o755


def test_rooms_are_removed_when_a_conversation_is_given_up(codebook: Codebook, folder: Path) -> None:
    put = FileStep("put", {"root": "a", "path": "x", "text": ""})
    talk = exchanges((put, *STEPS), codebook, DIALECTS["json"])
    next(talk)
    assert len(list(folder.iterdir())) == 1
    talk.close()


def test_a_conversation_without_roots_makes_no_directory(codebook: Codebook, folder: Path) -> None:
    talk = exchanges(STEPS[4:5], codebook, DIALECTS["json"])
    next(talk)
    assert list(folder.iterdir()) == []
    talk.close()


def test_a_path_is_masked_wherever_it_stands_in_text(folder: Path) -> None:
    with Roots() as roots:
        assert roots.masked({"x": "/a"}) == {"x": "/a"}
        path = str(roots.path("a"))
        said = {"list": [path, {"key": f"in {path}/b and {path}"}], path: 7}
        assert roots.masked(said) == {"list": ["{root:a}", {"key": "in {root:a}/b and {root:a}"}], "{root:a}": 7}


def test_rewording_a_refusal_is_no_change_of_the_contract(library: Library, tmp_path: Path) -> None:
    reworded = KEEP_HEAD.replace("Something stands there already.", "The name is taken.")
    assert reworded != KEEP_HEAD
    recoded = KEEP_HEAD.replace("{id: taken, code", "{id: occupied, code")
    digests = [
        # The place of the confirming backend stands in the contract.
        contract_digest(load(tmp_path / name, head=head.replace("CONFIRMER", "javascript")).contracts[KEEP])
        for name, head in (("same", KEEP_HEAD), ("reworded", reworded), ("recoded", recoded))
    ]
    assert digests[0] == digests[1] != digests[2]


# -- what a law or a record says of directories is the same in every run


RECOVER = "UML_OS.Checkpoint.RecoverRun_v1"


def a_broken_relation() -> None:
    with law_root() as root:
        path = str(root)
        call = Call(READ, {"root": path, "name": "c", "stage": "eval", "expected": {"text": f"{path}/c"}})
        raise LawBroken(f"nothing is below {path}", call)


def test_a_relation_that_breaks_names_its_roots_and_no_path() -> None:
    with pytest.raises(LawBroken) as broken:
        a_broken_relation()
    assert broken.value.message == "nothing is below {root:a}"
    assert broken.value.call is not None
    assert broken.value.call.inputs == {
        "root": {"root": "a"}, "name": "c", "stage": "eval", "expected": {"text": "{root:a}/c"}
    }  # fmt: skip


def test_a_relation_may_break_without_a_call() -> None:
    with pytest.raises(LawBroken, match="no relation") as broken, law_root():
        raise LawBroken("no relation")
    assert broken.value.call is None


def test_a_recorded_call_is_asked_in_a_fresh_root() -> None:
    with pair_of(codebook_of(shipped_library()), None, 30.0) as pair:
        observed = pair.reference.answer(RECOVER, {"root": {"root": "a"}, "public_key": "00" * 32})
    assert observed == ObservedResult({"state": "empty"})


def test_a_recorded_call_that_hangs_on_another_is_not_asked_alone() -> None:
    with (
        pair_of(codebook_of(shipped_library()), None, 30.0) as pair,
        pytest.raises(CommandError, match="needs the answer of the step 'open'"),
    ):
        pair.reference.answer("Stream.Position", {"handle": {"from": "open.handle"}})


def test_every_law_that_needs_directories_takes_them_from_one_place() -> None:
    places = (Path(law.__file__), *sorted((ROOT / "checks" / "laws").glob("*.py")))
    assert [file.name for file in places if "Roots()" in file.read_text("utf-8")] == ["law.py"]
