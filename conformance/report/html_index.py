"""The page that a visitor of a folder of reports opens first: the verdict on each backend, and how to verify it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.report.certificate.keys import PublicKey
from conformance.report.certificate.statement import Statement
from conformance.report.html import environment, policy, source_of, tone_of, verdict_sentence
from conformance.report.html_proof import Proof
from conformance.report.record import Record, digest_of_record

Rows = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Reported:
    """One backend of the folder: its record, links to its files by what they are, and its certificate."""

    name: str
    record: Record
    files: Rows
    certificate: tuple[Statement, PublicKey] | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """What the page says of one backend."""

    name: str
    tone: str
    verdict: str
    sentence: str
    facts: Rows
    files: Rows
    certified: Rows
    is_test: bool


def index_page(
    title: str, reported: Sequence[Reported], steps: Rows, proof: Proof | None, together: str
) -> str:
    """The page; `steps` are the commands that verify the reports, each with its purpose, `together` a link.

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


def _card(one: Reported) -> Card:
    record, certificate = one.record, one.certificate
    return Card(
        name=one.name,
        tone=tone_of(record),
        verdict=record.verdict,
        sentence=verdict_sentence(record),
        facts=list(_facts(record)),
        files=one.files,
        certified=list(_certified(*certificate)) if certificate is not None else (),
        is_test=certificate is not None and certificate[1].is_test,
    )


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
    """The beginning of a digest, which is enough to recognize it; the files have all of it."""
    return f"{digest[:16]}..."
