"""Files that lack a part, have a byte more, lie elsewhere or give two reasons at once; a handle that is alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.backend.outcome import Observed, ObservedFailure, ObservedResult
from conformance.codec.codebook import codebook_of
from conformance.contract.family import FileFormat
from conformance.contract.model import Contract
from conformance.tests.counter_spec import NAME, load
from conformance.tests.fuzz.tasks import Silent, task_of
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import new_folder
from conformance.trial.bystanders import one_of_each_group
from conformance.trial.fuzz.file_example import Base, Example, ExampleFiles, Snapshots, ranked, until_left_open
from conformance.trial.fuzz.file_parts import (
    ReferenceProbe,
    files_read_together,
    lacking,
    lengthened,
    maps_of,
    parts_of,
    reports_problems,
)
from conformance.trial.fuzz.files import FileSearch
from conformance.trial.fuzz.listings.files import calls_of_each_input, files_of_other_calls, layout_of
from conformance.trial.fuzz.listings.sequences import ended
from conformance.trial.fuzz.program import after_another_handle, needed_turns, steps_of
from conformance.trial.fuzz.program_draw import Pool, pool_of
from conformance.vectors.case import CallStep, Case, Expected, ExpectedFailure, ExpectedResult, FileStep, TreeStep
from conformance.vectors.compact import recipe
from conformance.vectors.conversation.exchange import Exchange, Transcript
from conformance.vectors.files.damage import damage
from conformance.vectors.files.filecodec import decode_file, encode_file
from conformance.vectors.files.formed import decoded, encoded
from conformance.vectors.files.temp_roots import StepRefused

CONSUMER, OPEN, STATS = "Pipeline.Consumer", "Pipeline.Consumer.Open", "Pipeline.Consumer.Stats"
PROVIDER = "Pipeline.Provider"
FIELDS = [{"key": "a", "size": 2}, {"key": "b", "size": 0}]
META = {"name": "rows", "fields": FIELDS, "info": {"x": {"n": 1}, "y": {"n": 2}}}
FORMS = codebook_of(shipped_library()).formats
FINE = ExpectedResult({})


def contract(name: str) -> Contract:
    return shipped_library().contracts[name]


def case(operator: str, *calls: tuple[str, str, Expected], slug: str = "one", before: Sequence[FileStep] = ()) -> Case:
    steps = [CallStep(name, called, {"root": {"root": "a"}}, expected) for name, called, expected in calls]
    return Case(f"{operator}::{slug}::trace", operator, slug, "", (), (), "quick", (*before, *steps))


def formed(form: FileFormat, place: str, item: Any) -> ExampleFiles:
    return ExampleFiles(form, place, (place,), {"whole": item})


@dataclass
class Spoken:
    """A reference whose answers hang on the edits that were made before it was asked; it counts the walks."""

    answer: Callable[[str], Observed]
    walks: list[Sequence[Any]] = field(default_factory=list)

    def walk(self, steps: Sequence[Any]) -> Transcript:
        self.walks.append(steps)
        edits = " ".join(str(dict(step.body)) for step in steps if isinstance(step, FileStep))
        calls = [step for step in steps if isinstance(step, CallStep)]
        return Transcript(tuple(Exchange(one.name, one.operator, one.inputs, self.answer(edits)) for one in calls))


def reading(answer: Callable[[str], Observed]) -> tuple[ReferenceProbe, Spoken]:
    spoken = Spoken(answer)
    return ReferenceProbe(spoken), spoken  # type: ignore[arg-type]


def seen_of(one: Case, contents: Mapping[str, bytes], *items: ExampleFiles) -> Snapshots:
    """What a walk found before every call of a case, which was answered with nothing."""
    sizes = {path: len(data) for path, data in contents.items()}
    calls = [step.name for step in one.steps if isinstance(step, CallStep)]
    seen = Snapshots({name: {"a": sizes} for name in calls}, {name: {"a": frozenset(sizes)} for name in calls})
    seen.contents["a"] = dict(contents)
    seen.formed["a"] = {(each.form.name, each.place): each for each in items}
    seen.note(Transcript(tuple(Exchange(name, OPEN, {}, ObservedResult({})) for name in calls)))
    return seen


def said(examples: Sequence[Example], key: str) -> list[str]:
    return [edit[0].body[key] for one in examples for edit in one.edits]


# -- parts


def test_every_key_is_left_out_null_and_empty_and_elements_of_a_list_are_alike() -> None:
    edits = dict(parts_of(formed(FORMS["metadata"], "meta.pkl", META)))
    assert edits["whole.fields.*.size empty"] == "whole.fields.0.size empty"
    assert {"whole.name absent", "whole.name null", "whole.name empty", "whole.info.x.n absent"} <= {*edits}
    assert "whole.info.y absent" in edits
    assert "whole.info.y.n absent" not in edits  # its map has the keys of another


def test_what_a_format_declares_itself_is_not_tried_again() -> None:
    item = {"metadata": {"split": "train", "schema": []}, "arrays": {}}
    edits = dict(parts_of(formed(FORMS["batch-file"], "x.npz", item)))
    assert "whole.metadata.split absent" not in edits
    assert "whole.metadata.schema null" not in edits
    assert "whole.arrays absent" in edits


def test_parts_of_a_file_that_is_not_read_are_not_tried() -> None:
    one = case(CONSUMER, ("open", OPEN, FINE))
    bases: list[Base] = [(one, seen_of(one, {"meta.pkl": b"."}, formed(FORMS["metadata"], "meta.pkl", META)))]
    deaf, spoken = reading(lambda edits: ObservedResult({}))
    assert not list(lacking(contract(CONSUMER), bases, deaf))
    assert len(spoken.walks) == 1
    attentive, _ = reading(lambda edits: ObservedResult({"n": 1} if edits else {}))
    found = list(lacking(contract(CONSUMER), bases, attentive))
    assert "whole.fields.0.key absent" in said(found, "edit")
    assert {one.kept for one in found} == {bases[0][0].id}


def test_an_operation_that_reads_no_such_file_in_a_few_cases_is_not_asked_again() -> None:
    cases = [case(CONSUMER, ("open", OPEN, FINE), slug=f"case-{k}") for k in range(9)]
    item = formed(FORMS["metadata"], "meta.pkl", META)
    deaf, spoken = reading(lambda edits: ObservedResult({}))
    assert not list(lacking(contract(CONSUMER), [(one, seen_of(one, {"meta.pkl": b"."}, item)) for one in cases], deaf))
    assert len(spoken.walks) == 4


def test_cases_without_a_refusal_come_first_and_those_with_more_operations_before_others() -> None:
    refused = case(CONSUMER, ("open", OPEN, ExpectedFailure("META_INVALID", {})), slug="refused")
    fine = case(CONSUMER, ("open", OPEN, FINE))
    both = case(CONSUMER, ("a", OPEN, FINE), ("b", STATS, FINE), slug="both")
    bases = [(one, Snapshots()) for one in (refused, fine, both)]
    assert [one.group for one, _ in ranked(contract(CONSUMER), bases)] == ["both", "one", "refused"]


# -- ends


def test_the_first_and_the_last_file_of_a_kind_get_a_byte_more_at_each_end() -> None:
    files = {"q/1-0.npz": b"ab", "q/2-0.npz": b"cd", "q/3-0.npz": b"ef", "other": b"x"}
    one = case(CONSUMER, ("open", OPEN, FINE))
    reads_batches, _ = reading(lambda edits: ObservedResult({"n": 1} if "npz" in edits else {}))
    found = list(lengthened(contract(CONSUMER), [(one, seen_of(one, files))], reads_batches))
    assert said(found, "path") == ["q/1-0.npz"] * 3 + ["q/3-0.npz"] * 3
    assert said(found, "bytes")[:3] == ["616200", "616262", "006162"]


def test_a_file_that_is_a_text_gets_other_line_ends_and_numbers() -> None:
    one = case(CONSUMER, ("open", OPEN, FINE))
    reads_lists, _ = reading(lambda edits: ObservedResult({"n": 1} if "list" in edits else {}))
    bases = [(one, seen_of(one, {"1.list": b"part 7\nend\n", "2.list": b"part 8\n"}))]
    found = list(lengthened(contract(CONSUMER), bases, reads_lists))
    assert {*said(found, "path")} == {"1.list", "2.list"}
    texts = {bytes.fromhex(one) for one in said(found, "bytes")}
    assert {b"part 7\r\nend\r\n", b"part 4294967303\nend\n", b"part 07\nend\n", b"part  7\nend\n"} <= texts
    assert len(found) == 6 + 40


# -- elsewhere


def test_owned_names_are_planted_in_folders_that_a_call_does_not_name() -> None:
    here = case(PROVIDER, ("open", "Pipeline.Provider.Open", FINE))
    there = (case(PROVIDER, ("other", "Pipeline.Provider.Open", FINE), slug="there"), Snapshots())
    there[1].after_calls["other"] = {"b": frozenset({"queue", "queue/val", "queue/val/1-0-1.npz"})}
    (found,) = files_of_other_calls(contract(PROVIDER), codebook_of(shipped_library()), [there], [here])
    assert said([found], "path") == ["queue/.tmp-left", "queue/val/.tmp-left"]
    assert [step.name for step in found.steps if isinstance(step, CallStep)] == ["open"]
    put = FileStep("put", {"root": "a", "path": "queue/val", "text": "no folder"})
    blocked = case(PROVIDER, ("open", "Pipeline.Provider.Open", FINE), before=[put])
    (found,) = files_of_other_calls(contract(PROVIDER), codebook_of(shipped_library()), [there], [blocked])
    assert said([found], "path") == ["queue/.tmp-left"]


def test_calls_are_those_of_each_input_and_refused_ones_are_left_out() -> None:
    codebook = codebook_of(shipped_library())
    fine = case(PROVIDER, ("open", "Pipeline.Provider.Open", FINE))
    more = CallStep("open", "Pipeline.Provider.Open", {"root": {"root": "a"}, "config": {"splits": ["train"]}}, FINE)
    splits = Case(f"{PROVIDER}::splits::trace", PROVIDER, "splits", "", (), (), "quick", (more,))
    refused = case(PROVIDER, ("open", "Pipeline.Provider.Open", ExpectedFailure("CONFIG_INVALID", {})), slug="refused")
    found = calls_of_each_input(contract(PROVIDER), codebook, [splits, refused, fine])
    assert {one.group for one, _ in found} <= {"one", "splits"}
    assert splits in [one for one, _ in found]
    assert layout_of([]) == {}


def test_a_case_with_a_long_value_or_many_steps_is_chosen_only_if_all_are_large() -> None:
    long = FileStep("put", {"root": "a", "path": "long", "bytes": recipe("text", 70_000, of="00")})
    plain = case(PROVIDER, ("open", "Pipeline.Provider.Open", FINE))
    large = [replace(plain, id=f"{PROVIDER}::long::trace", group="long", steps=(long, *plain.steps))]
    large.append(replace(plain, id=f"{PROVIDER}::many::trace", group="many", steps=plain.steps * 25))
    assert one_of_each_group([*large, plain], 3) == [plain]
    assert {one.group for one in one_of_each_group(large, 3)} == {"long", "many"}


def test_nothing_is_asked_after_a_call_that_may_leave_files_which_the_contract_leaves_open() -> None:
    recover = contract("UML_OS.Checkpoint.RecoverRun_v1")
    call, put = CallStep("one", recover.operator, {}, FINE), FileStep("put", {"root": "a", "path": "x", "text": ""})
    look = TreeStep("a", ".", {})
    example = Example((put,), ((put,),), (put, call, put, replace(call, name="two"), look), "kept")
    assert until_left_open(recover, example).after == (put, call, look)
    asked = Silent()
    FileSearch(task_of(recover, (), asked, asked, codebook_of(shipped_library()))).try_all([(example, None)])
    assert asked.called == [[recover.operator]] * 2  # by the backend and by the reference
    assert until_left_open(contract(CONSUMER), example) is example


# -- two reasons at once


def test_two_edits_that_are_told_of_apart_are_made_together() -> None:
    one = case(CONSUMER, ("open", OPEN, FINE), ("stats", STATS, FINE))
    item = formed(FORMS["metadata"], "meta.pkl", META)
    batch = formed(FORMS["metadata"], "other/meta.pkl", META)

    def answer(edits: str) -> Observed:
        if "whole extra" in edits:
            return ObservedFailure("META_INVALID", {})
        told = [word for word in ("backup", "whole.info extra") if word in edits]
        return ObservedResult({"warnings": told})

    asked, _ = reading(answer)
    seen = seen_of(one, {"meta.pkl": b".", "other/meta.pkl": b"."}, item, batch)
    seen.note(Transcript(tuple(Exchange(name, OPEN, {}, answer("")) for name in ("open", "stats"))))
    found = list(files_read_together(contract(CONSUMER), codebook_of(shipped_library()), [(one, seen)], asked))
    behind = [[step.name for step in pair.after if isinstance(step, CallStep)] for pair in found]
    assert behind == [["open", "stats"], ["stats"]]
    assert all("whole.info extra" in str(pair.trace_lines) and "backup" in str(pair.trace_lines) for pair in found)
    assert [len(one.edits) for one in found] == [2, 2]


def test_who_answers_no_list_has_nothing_to_tell_beside_the_answer() -> None:
    library = codebook_of(shipped_library())
    assert reports_problems(library[STATS].contract)
    assert not reports_problems(library["Pipeline.Consumer.SetBatchSize"].contract)


# -- the only handle


@cache
def pool() -> Pool:
    library = load(new_folder())
    return pool_of(library.contracts[NAME], (), codebook_of(library))


def test_every_operation_is_asked_with_the_only_handle_once_it_has_ended() -> None:
    for program in ended(pool()):
        opened = {k for k, turn in enumerate(program) if turn.handle is None}
        assert opened
        for k in opened:
            own = [turn.operator.removeprefix("Counter.") for turn in program if turn.handle == k]
            assert own[0] == "Close"
            assert {"Increment", "Decrement", "Read", "Close"} <= {*own[1:]}
        # No other one is open between: the next begins when all was asked with the last.
        assert [program[k - 1].handle for k in sorted(opened) if k] == sorted(opened)[:-1]


def test_what_is_told_of_an_ended_handle_is_its_beginning_its_end_and_the_call() -> None:
    (program,) = ended(pool())
    last = max(k for k, turn in enumerate(program) if turn.operator.endswith("Read"))
    short = needed_turns(program, last, pool().codebook)
    assert [turn.operator.removeprefix("Counter.") for turn in short] == ["Open", "Close", "Read"]
    assert steps_of(short, pool().codebook)[-1].inputs["handle"] == {"from": "open-1.handle"}
    assert [turn.handle for turn in after_another_handle(short)] == [None, None, 1, 1]


# -- files of torch.save


def test_a_file_of_torch_save_is_read_changed_and_written(tmp_path: Path) -> None:
    written = {"metadata": {"split": "train", "n": 1}, "tensors": {"row": np.array([7], "uint8")}}
    data = encoded("pt", written)
    item = decoded("pt", data, "x.pt")
    assert item["metadata"]["split"] == "train"
    assert np.array_equal(item["tensors"]["row"], np.array([7], "uint8"))
    assert encode_file("pt", decode_file("pt", data)) == data
    (tmp_path / "x.pt").write_bytes(data)
    damage(tmp_path, "x.pt", FORMS["torch-file"], "whole.metadata.split absent")
    assert "split" not in decoded("pt", (tmp_path / "x.pt").read_bytes(), "x.pt")["metadata"]
    damage(tmp_path, "x.pt", FORMS["torch-file"], "whole.tensors empty")
    with pytest.raises(StepRefused, match="is no file of"):
        decoded("pt", b"PK", "x.pt")


def test_a_field_too_many_where_only_arrays_can_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(encoded("npz", {"metadata": {}, "arrays": {}}))
    with pytest.raises(StepRefused, match="leaves no file that can be written"):
        damage(tmp_path, "x.npz", FORMS["batch-file"], "whole.arrays extra")


def test_the_maps_of_a_file_are_named_once_each_kind() -> None:
    assert list(maps_of(formed(FORMS["metadata"], "meta.pkl", META))) == [
        "whole",
        "whole.fields.0",
        "whole.info",
        "whole.info.x",
        "whole.info.y",
    ]
