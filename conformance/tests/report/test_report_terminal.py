"""What a person sees in a terminal of 80 columns."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

from rich.console import Console

from conformance.report.record import Record
from conformance.report.terminal import show
from conformance.tests.runs import BATCH, MAP, ORDER, check, failed, lost, passed, record
from conformance.trial.check import Diagnosis, Difference, Kind, KnownFailure, Result, Verdict

SCOPE = "1 of 3 operators, profile standard, crash safety not tried"
EXCUSE = KnownFailure(f"{MAP}*", "the tail is not done yet", "https://example.org/1")


def level(reached: str) -> dict[str, Any]:
    return {"asked": "posix", "reached": reached, "sampled": True}


def page(*records: Record, most: int = 8, width: int = 80) -> str:
    file = StringIO()
    show(records, Console(file=file, width=width, color_system=None), most)
    return file.getvalue()


def test_only_the_commands_to_copy_and_the_verdict_are_wider_than_the_terminal() -> None:
    text = page(record(*(failed(BATCH, f"case-{k}", k) for k in range(9)), lost(MAP, "boom"), passed(MAP, "one")))
    *lines, verdict = text.splitlines()
    assert verdict.startswith("NOT CONFORMANT: 9 of 11 checks failed; 1 of 11 checks errored")
    wide = [line for line in lines if len(line) > 80]
    assert wide
    assert all(line.startswith(("repeat", "explain", "Error group")) for line in wide)


def test_the_banner_counts_every_stage() -> None:
    text = page(record(passed(MAP, "one"), Result(check(ORDER, "absent"), Verdict.NOT_APPLICABLE)))
    assert "6 loaded, 2 selected, 1 not applicable," in text
    assert "0 expected to fail, 1 run" in text


def test_a_failure_shows_where_why_and_how_to_repeat_it() -> None:
    text = page(record(failed(BATCH, "short-tail", broken=("in-range",))))
    for fact in (
        f"Failure group 1 of 1 (1 check): {BATCH}::tail-blocks::short-tail",
        "why         A short final block has its own modulus.",
        "differs at  batch_sample_indices[3]",
        'expected    "243"',
        'actual      "244"',
        "requirement N12 (§ 5,6.8): only full blocks are permuted",
        "ruling      NA18: min(block_size, cardinality - block_start)",
        "broken      in-range",
        f"repeat      tally run --backend 'node acme.js' -k {BATCH}::tail-blocks::short-tail",
        f"explain     tally explain --backend 'node acme.js' {BATCH}::tail-blocks::short-tail",
        "diagnosis: not explained (no kill matrix to look it up in)",
    ):
        assert fact in text


def test_failures_alike_are_told_once() -> None:
    text = page(record(*(failed(BATCH, f"case-{k}", k) for k in range(40))))
    assert "Failure group 1 of 1 (40 checks): " in text
    assert "alike       Same failure in 39 other checks: tail-blocks 39" in text


def test_different_codes_at_one_place_are_different_failures() -> None:
    first = failed(MAP, "a", difference=Difference("error.message", "CONTRACT_VIOLATION", "INVALID_STAGE_TYPE"))
    second = failed(MAP, "b", difference=Difference("error.message", "INVALID_DATASET_KEY", "INVALID_STAGE_TYPE"))
    assert "Failure group 2 of 2" in page(record(first, second))


def test_hidden_failures_are_counted() -> None:
    many = [failed(BATCH, f"case-{k}", difference=Difference(f"field_{chr(97 + k)}", "1", "2")) for k in range(5)]
    text = page(record(*many), most=2)
    assert "Failure group 2 of 5" in text
    assert "Failure group 3 of 5" not in text
    assert "and 3 more distinct failures (3 checks)" in text


def test_a_long_value_is_cut_around_the_first_difference() -> None:
    left, right = "00" * 40 + "ab" + "11" * 40, "00" * 40 + "cd" + "11" * 40
    text = page(record(failed(BATCH, "digest", difference=Difference("digest", left, right))))
    assert "shown from character 65 of 164" in text
    assert "0000ab1111" in text
    assert "0000cd1111" in text
    assert left not in text


def test_a_phrase_is_not_cut_like_a_value() -> None:
    said = "'this operator is not written yet: see halve in operators.py' (-32603)"
    odd = Difference("error.message", "a registered failure code", said, "ill-typed")
    text = page(record(failed(BATCH, "odd", difference=odd)))
    assert "expected    a registered failure code\n" in text
    assert "see halve in" in text


def test_markup_and_control_characters_of_a_backend_are_shown_and_not_obeyed() -> None:
    odd = failed(BATCH, "odd", difference=Difference("text", "[bold]x[/bold]", "\x1b[31mred\x07"), message="a\x1b[2Jb")
    text = page(record(odd))
    assert "[bold]x[/bold]" in text
    assert "\x1b" not in text
    assert "a\\x1b[2Jb" in text


def test_the_table_has_a_row_per_operator_and_a_column_per_kind() -> None:
    text = page(record(passed(BATCH, "a"), failed(BATCH, "b"), passed(BATCH, "pure", Kind.BEHAVIOUR), passed(MAP, "c")))
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip().startswith("UML_OS")}
    assert rows[BATCH] == ["1/2", "1/1", "FAIL"]
    assert rows[MAP] == ["1/1", "pass"]


def test_operators_that_are_not_declared_are_one_line() -> None:
    absent = [Result(check(operator, "one"), Verdict.NOT_APPLICABLE) for operator in (BATCH, ORDER)]
    lines = page(record(passed(MAP, "one"), *absent)).splitlines()
    assert f"not declared: 2 operators ({BATCH}, {ORDER})" in lines
    assert not any(line.startswith((BATCH, ORDER)) for line in lines)


def test_an_operator_with_a_long_name_keeps_to_its_line_in_80_columns() -> None:
    name = "UML_OS.Serialization.ValidateCanonical_v1"
    kinds = {Kind.VECTOR: 100, Kind.LAW: 100, Kind.BEHAVIOUR: 2, Kind.FUZZ: 1}
    many = [passed(name, f"{kind}-{k}", kind) for kind, count in kinds.items() for k in range(count)]
    table = page(record(*many, Result(check(ORDER, "absent"), Verdict.NOT_APPLICABLE)))
    (row,) = [line for line in table.splitlines() if line.startswith(name)]
    assert row.split()[1:] == ["100/100", "100/100", "2/2", "1/1", "pass"]
    assert all(len(line) <= 80 for line in table.splitlines())


def test_several_backends_stand_side_by_side() -> None:
    text = page(record(failed(MAP, "a"), backend="mine"), record(passed(MAP, "a"), backend="reference"))
    row = next(line for line in text.splitlines() if line.strip().startswith(MAP))
    assert row.split()[1:] == ["0/1", "FAIL", "1/1", "pass"]
    assert "NOT CONFORMANT: 1 of 1 check failed; 1 of 3 operators, profile standard, crash safety not tried" in text
    assert text.rstrip().endswith("CONFORMANT: 1 of 3 operators, profile standard, crash safety not tried")


def test_the_cause_comes_before_what_was_not_asked_and_the_verdict_names_it() -> None:
    """The bytes of a line differ from check to check; they make no other failure of it."""
    said = "a protocol error: a line that is not UTF-8 at byte {}: b'{}'"
    causes = [error(f"z-{k}", said.format(60 + k, "x" * k)) for k in range(2)]
    unasked = "a protocol error: not asked: the backend was lost in each of 2 checks of this operator"
    text = page(record(*causes, *(error(f"a-{k}", unasked) for k in range(5))))
    assert f"Error group 1 of 2 (2 checks): {MAP}::tail-blocks::z-0" in text
    assert f"Error group 2 of 2 (5 checks): {MAP}::tail-blocks::a-0" in text
    verdict = text.splitlines()[-1]
    assert verdict.startswith(f"NOT CONFORMANT: 7 of 7 checks errored (5 not asked): {causes[0].message}; ")


def error(name: str, message: str) -> Result:
    return replace(lost(MAP, name), outcome="protocol_error", message=message)


def test_the_last_line_is_the_verdict() -> None:
    ends = {
        f"CONFORMANT: {SCOPE}": record(passed(MAP, "a")),
        "NOT CONFORMANT: 1 of 2 checks failed; 1 of 2 checks errored: a crash: it was ended by SIGSEGV; "
        f"{SCOPE}": record(failed(MAP, "a"), lost(MAP, "b")),
        f"NOT CONFORMANT: 2 expected failures now pass; remove them with --update-expected; {SCOPE}": record(
            passed(MAP, "a"), unexpected_passes=("a", "b")
        ),
        f"NOT CONFORMANT: required, but not declared: {BATCH}, {ORDER}; {SCOPE}": record(
            passed(MAP, "a"), missing=(ORDER, BATCH)
        ),
        f"PASSED WITH 1 EXPECTED FAILURE: {SCOPE}": record(failed(MAP, "a"), expected_failures=(EXCUSE,)),
        "CONFORMANT: 1 of 3 operators, profile standard, crash safety ext4 in 2 workloads, a sample of states": record(
            passed(MAP, "a"), crash={"a%b": level("ext4"), "a%c": level("posix")}
        ),
        "NO JUDGEMENT: the stand-in is lost (and 1 more)": record(
            passed(MAP, "a"), obstacles=("the stand-in is lost", "twice")
        ),
        "NO JUDGEMENT: nothing ran: the backend declares no operator of the 1 selected check; its hello names what it "
        "declares": record(Result(check(ORDER, "absent"), Verdict.NOT_APPLICABLE)),
    }
    for last, judged in ends.items():
        assert page(judged).splitlines()[-1] == last


def test_losses_that_nobody_repeats_are_told_once_and_counted_beside_the_verdict() -> None:
    text = page(record(passed(MAP, "a"), unattributed=("a crash: x", "a crash: x", "a timeout: y")), width=100)
    assert text.count("no check repeats it alone: a crash: x") == 1
    assert "lost 2 times" in text
    last = f"NOT CONFORMANT: the backend was lost 3 times, and no check repeats it alone; {SCOPE}"
    assert text.splitlines()[-1] == last


def test_an_operator_that_no_contract_describes_is_named() -> None:
    told = page(record(passed(MAP, "a"), contracts={MAP: "1.0.0 bb"}))
    assert f"declared, but no contract has this name: {BATCH}\n" in told
    misspelt = page(record(passed(MAP, "a"), contracts={f"{BATCH[:-3]}s_v2": "1.0.0 bb"}), width=200)
    assert f"(did you mean {BATCH[:-3]}s_v2?)" in " ".join(misspelt.split())
    assert "no contract has this name" not in page(record(passed(MAP, "a")))
    foreign = page(record(passed(MAP, "a"), contracts={"Text.Cut_v1": "1.0.0 bb"}), width=200)
    assert "(are they of another suite? --suite DIR names it)" in " ".join(foreign.split())


def test_what_is_not_explained_has_a_reason() -> None:
    for diagnosis, why in (
        (None, "no kill matrix to look it up in"),
        (Diagnosis(explained=False), "no known mistake gives these answers"),
        (Diagnosis(explained=False, sentence="25 known mistakes fail"), "25 known mistakes fail"),
    ):
        assert f"diagnosis: not explained ({why})" in page(record(failed(MAP, "a"), diagnosis=diagnosis), width=120)


def test_a_diagnosis_names_the_mistake_and_its_sources() -> None:
    diagnosis = Diagnosis(True, False, ("big-endian-seed",), "reads the seed words big-endian", ("N10",), ("NA02",))
    text = page(record(failed(MAP, "a"), diagnosis=diagnosis), width=120)
    assert "diagnosis: reads the seed words big-endian (N10, NA02); as mutant big-endian-seed" in text
    narrow = page(record(failed(MAP, "a"), diagnosis=diagnosis), width=60)
    assert "\n    mutant big-endian-seed\n" in narrow


def test_fuzzing_says_what_it_reached() -> None:
    guards = {"a": {"passed": 9, "refused": 1}, "b": {"passed": 9, "refused": 0}}
    first = {"examples": 10, "succeeded": 9, "listed": 7, "guards": guards}
    figures = {MAP: first, BATCH: {"examples": 10, "succeeded": 6}}
    text = page(record(passed(MAP, "a"), fuzz=figures), width=120)
    assert "fuzz: 7 calls listed, 20 drawn, of which 75 % succeed; 1 of 2 guards reached from both sides" in text
    none = page(record(passed(MAP, "a"), fuzz={MAP: {**first, "examples": 0, "succeeded": 0}}), width=120)
    assert "fuzz: 7 calls listed, none drawn (fuzzing ends at the first wrong answer); 1 of 2 guards" in none


def test_excused_failures_are_no_failures_but_are_counted() -> None:
    entry = KnownFailure(f"{MAP}*", "the tail is not done yet", "https://example.org/1")
    text = page(record(failed(MAP, "a"), passed(BATCH, "b"), expected_failures=(entry,)))
    assert "Failure group" not in text
    assert "1 check failed as expected. Runs with expected failures are not certifiable." in text
    assert text.splitlines()[-1].startswith("PASSED WITH 1 EXPECTED FAILURE: ")
