"""The report as one HTML file, and the page of a folder of reports; no text of a backend can act in them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from conformance.contract.suite import Suite
from conformance.contract.wording import counted
from conformance.report.failure import cut, excuse_of, failures_of, group_alike
from conformance.report.html_failures import LONGEST, failure_view
from conformance.report.html_tables import (
    LEVELS,
    SuiteStrength,
    checks_json,
    crash_rows,
    expected_failures,
    matrix_of,
    proof_of,
    sequence_difference_rows,
    time_rows,
    unasked_operators,
    undeclared,
)
from conformance.report.record import Record, digest_of_record
from conformance.report.stored import sound
from conformance.report.summary import banner, remarks
from conformance.report.untrusted import printable
from conformance.report.verdict import crash_words, tone_of
from conformance.report.writer import Observations

if TYPE_CHECKING:
    from conformance.report.certificate.keys import PublicKey
    from conformance.report.certificate.statement import Statement

MOST_GROUPS: Final = 200  # distinct failures that are shown in full; the list of checks has all failures


def verdict_sentence(record: Record) -> str:
    """The sentence of a verdict without the verdict."""
    said = record.sentence.removeprefix(record.verdict).removeprefix(":").strip()
    return f"{said[:1].upper()}{said[1:]}"


def html_page(
    records: Sequence[Record], observations: Sequence[Observations | None], proof: SuiteStrength | None
) -> str:
    """The page of one run or of several side by side, with one member of `observations` for each record.

    The same records, observations and proof give the same bytes.
    """
    templates = environment()
    seen = [sound(observed or {}) for observed in observations]
    views = [_view(number, *one) for number, one in enumerate(zip(records, seen, strict=True))]
    style, script = (source_of(templates, f"page.{kind}") for kind in ("css", "js"))
    return templates.get_template("page.html").render(
        backends=[view for view, _ in views],
        matrix=matrix_of(records),
        levels=LEVELS,
        proof=proof,
        checks=Markup(checks_json(records, [anchors for _, anchors in views])),  # noqa: S704 (checks_json escapes what could end the element)
        style=style,
        script=script,
        policy=policy(style, script),
    )


def html_file(records: Sequence[Record], observed: Sequence[Observations], suite: Suite | None = None) -> str:
    """The page with the proof of the suite whose contracts the records were made with.

    That is `suite` or the bundled one; the page of another suite shows no proof. Raises MalformedContract if the
    contracts of a suite cannot be read, UnreadableReport if its proof cannot.
    """
    from conformance.contract.library import load_library
    from conformance.contract.suite_file import bundled_suite
    from conformance.vectors.frozen.lock import contract_digests

    for candidate in dict.fromkeys([suite or bundled_suite(), bundled_suite()]):
        library = load_library(candidate)
        contracts = dict(contract_digests(library))
        if all(record["contracts"] == contracts for record in records):
            return html_page(records, observed, proof_of(candidate.reports, library.requirements))
    return html_page(records, observed, None)


def policy(style: str, script: str = "") -> str:
    """The content security policy that allows only this style and this script."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)
    )
    scripts = f"'sha256-{script_hash}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src {scripts}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _view(number: int, record: Record, observations: Observations) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """A backend's part of the page in the form of the template, and the anchors of its failing checks."""
    groups = group_alike(failures_of(record.entries), record["prose"])
    failures: list[Mapping[str, Any]] = []
    anchors: dict[str, str] = {}
    for place, alike in enumerate(groups[:MOST_GROUPS], 1):
        anchor = f"failure-{number + 1}-{place}"
        failures.append(failure_view(alike, anchor, record, observations))
        anchors |= {entry["id"]: anchor for entry in (alike.first, *alike.others)}
    view = {
        "number": number,
        "record": record,
        "name": str(record["backend"]["text"]),
        "tone": tone_of(record.verdict),
        "sentence": verdict_sentence(record),
        "scope": list(_scope(record, observations)),
        "remarks": list(remarks(record)),
        "failures": failures,
        "hidden": len(groups) - len(failures),
        "excused": [(entry["id"], excuse_of(record, entry)) for entry in failures_of(record.entries, excused=True)],
        "crash": crash_rows(record, observations),
        "times": time_rows(record, observations),
        "partings": sequence_difference_rows(record),
        "undeclared": undeclared(record),
        "unasked": unasked_operators(record),
        "expected": expected_failures(record),
    }
    return view, anchors


def _scope(record: Record, observations: Observations) -> Iterator[tuple[str, str]]:
    scope = record["scope"]
    yield "operators", f"{len(scope['operators'])} of {scope['of']} tried"
    lines: dict[str, str] = {}
    label = ""
    for name, text in banner(record):
        label = name or label
        lines[label] = f"{lines.get(label, '')} {text.strip()}".strip()
    yield from lines.items()
    yield "crash safety", crash_words(record["crash"])
    if "seconds" in observations:
        yield "took", f"{observations['seconds']:.1f} s, {observations.get('calls', 0):,} calls"


def environment() -> Environment:
    """The templates of the pages, which escape all values."""
    found = Environment(
        loader=PackageLoader("conformance.report", "page"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["breakable"] = _breakable
    found.filters["counted"] = counted
    return found


def _printable(value: Any) -> Any:
    """A value for the page, made printable and cut if it is long, before it is escaped."""
    return value if hasattr(value, "__html__") else printable(cut(str(value), LONGEST))


def _breakable(value: str) -> Markup:
    """A long name in which a line may break after each part."""
    shown = str(escape(_printable(value)))
    for sign in (".", "::", "_", "/"):
        shown = shown.replace(sign, f"{sign}<wbr>")
    return Markup(shown)  # noqa: S704 (it was escaped)


def source_of(templates: Environment, name: str) -> Markup:
    """The source of a file of the page, which is trusted."""
    assert templates.loader is not None
    return Markup(templates.loader.get_source(templates, name)[0])  # noqa: S704


Rows = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Reported:
    """One backend of the folder: its record, links to its files by kind, and its certificate."""

    name: str
    record: Record
    files: Rows
    certificate: tuple[Statement, PublicKey] | None = None


def index_page(
    title: str, reported: Sequence[Reported], steps: Rows, proof: SuiteStrength | None, together: str
) -> str:
    """The page of a folder of reports; `steps` are commands that verify them, with their purpose, `together` is a link.

    The same records, certificates, steps and proof give the same bytes.
    """
    templates = environment()
    style = source_of(templates, "page.css")
    return templates.get_template("index.html").render(
        title=title,
        cards=[_card(one) for one in reported],
        steps=steps,
        proof=proof,
        together=together,
        harness=reported[0].record["harness"],
        style=style,
        policy=policy(style),
    )


def _card(one: Reported) -> Mapping[str, Any]:
    record, certificate = one.record, one.certificate
    return {
        "name": one.name,
        "tone": tone_of(record.verdict),
        "verdict": record.verdict,
        "sentence": verdict_sentence(record),
        "facts": list(_facts(record)),
        "files": one.files,
        "certified": list(_certified(*certificate)) if certificate is not None else (),
        "is_test": certificate is not None and certificate[1].is_test,
    }


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    backend, verdicts = record["backend"], record["verdicts"]
    yield "backend", f"{backend['name']} {backend['version']}, {backend['language']}, wire {backend['wire']}"
    yield "operators", f"{len(record['scope']['operators'])} of {record['scope']['of']} declared and tried"
    yield "checks", f"{verdicts['pass']:,} of {record['counts']['run']:,} passed"
    yield "vectors", _short(record["vectors"])
    yield "record", _short(digest_of_record(record))


def _certified(statement: Statement, key: PublicKey) -> Iterator[tuple[str, str]]:
    subject = statement.subject
    yield "about", f"{subject.kind} {subject.name}, {subject.algorithm} {_short(subject.digest)}"
    yield "started", str(statement.started)
    yield "checks", f"{statement.scope['checks']:,}, with those that only the nonce decides"
    yield "nonce", _short(statement.nonce)
    yield "sandbox", statement.sandbox
    yield "issued", f"{statement.issued:%Y-%m-%d}, as the certifier says"
    yield "key", f"{_short(key.id)}{', the test key' if key.is_test else ''}"


def _short(digest: str) -> str:
    """The beginning of a digest, enough to recognize it; the files have the whole digest."""
    return f"{digest[:16]}..."
