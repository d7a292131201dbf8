"""JUnit XML, in the dialect that CI servers read: a suite per operator, a case per check."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from xml.etree import ElementTree as ET

from conformance.report.failure import (
    excuse_of,
    facts_of,
    headline,
    plain_lines,
    reproduction_in,
    seconds_in,
    stderr_in,
)
from conformance.report.record import Entry, Record, by_operator
from conformance.report.untrusted import printable
from conformance.report.verdict import crash_words, run_problems
from conformance.report.writer import Observations

# `printable` escapes every character that XML 1.0 forbids; a server refuses the whole file if it has one.
_RUN = "tallystick"  # the suite of problems that belong to no operator


def junit(records: Sequence[Record], observed: Sequence[Observations]) -> bytes:
    """The page of one record: failure = a wrong answer or a run problem that is not `lost`, error = no answer."""
    (record,), (observations,) = records, observed
    tree = ET.ElementTree(suites_of(record, observations))
    ET.indent(tree)
    made = BytesIO()
    tree.write(made, encoding="utf-8", xml_declaration=True)
    return made.getvalue()


def suites_of(record: Record, observations: Observations) -> ET.Element:
    """The root element."""
    root = ET.Element("testsuites", name=printable(f"tallystick {record['backend']['text']}"))
    for operator, entries in by_operator(record.entries).items():
        suite = ET.SubElement(root, "testsuite", name=printable(operator))
        _properties(suite, record, operator)
        for entry in entries:
            _case(suite, record, entry, observations)
    if found := list(run_problems(record.members)):
        suite = ET.SubElement(root, "testsuite", name=_RUN)
        for trouble in found:
            kind = "error" if trouble.lost else "failure"
            case = ET.SubElement(suite, "testcase", classname=_RUN, name=printable(trouble.name), time="0")
            ET.SubElement(case, kind, message=printable(trouble.text), type=kind)
    for suite in root:
        _count(suite)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", str(observations.get("seconds", 0)))
    return root


def _properties(suite: ET.Element, record: Record, operator: str) -> None:
    backend = record["backend"]
    values = {
        "backend": f"{backend['name']} {backend['version']}".strip(),
        "contract": record["contracts"].get(operator, ""),
        "harness": record["harness"],
        "profile": record["profile"],
        "vectors": record["vectors"],
        "sandbox": backend["sandbox"],
        "verdict": record.verdict,
        "verdict-line": record.sentence,
        "crash": crash_words(record["crash"]),
        "wire": backend["wire"],
    }
    properties = ET.SubElement(suite, "properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=printable(value))


def _case(suite: ET.Element, record: Record, entry: Entry, observations: Observations) -> None:
    operator = entry["operator"]
    # Classname and name together are the id of the check, without the separator between them.
    name = entry["id"].removeprefix(operator).removeprefix("::")
    time = f"{seconds_in(observations, entry):g}"
    case = ET.SubElement(suite, "testcase", classname=printable(operator), name=printable(name), time=time)
    verdict = entry["verdict"]
    if verdict == "not_applicable":
        ET.SubElement(case, "skipped", message="the backend does not declare this operator")
    elif entry.get("excused", False):
        ET.SubElement(case, "skipped", message=printable(excuse_of(record, entry)))
    elif verdict in ("fail", "error"):
        facts = facts_of(entry, record["prose"], reproduction_in(record), stderr_in(observations, entry))
        tag = "failure" if verdict == "fail" else "error"
        complaint = ET.SubElement(case, tag, message=printable(headline(entry)), type=entry.get("outcome", "") or tag)
        complaint.text = printable(f"{entry['id']}\n{plain_lines(facts)}\n")


def _count(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in cases):g}")
