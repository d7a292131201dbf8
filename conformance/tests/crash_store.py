"""The contracts that the crash writers speak, with one workload each, and trials of them."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library, load_library
from conformance.tests import small_spec
from conformance.tests.processes import ROOT
from conformance.trial.crash.report import CrashReport
from conformance.trial.crash.trial import CrashOptions, try_workload
from conformance.trial.crash.workload import CrashWorkload, crash_workloads

WRITERS = Path(__file__).with_name("crash_writers")
ERRORS = """\
errors:
  - {code: META_MISSING, number: 1202, subsystem: data, severity: ERROR, message: Nothing is there yet.}
  - {code: CONTRACT_VIOLATION, number: 1801, subsystem: runtime, severity: FATAL, message: It does not hold.}
"""
HEAD = """\
contract: Store.{name}_v1
version: 1.0.0
purpose: Try the crash harness.
source: {{seed: data-next-batch, section: "5"}}
equivalence: E0
purity: io
confirmed_by: [javascript]
inputs: {{{inputs}}}
outputs: {{{outputs}}}
requires: []
refuses: [{{id: missing, code: META_MISSING, when: Nothing is there., requirement: N01}}]
ordering: {{}}
state: none
vectors: [{{group: none-yet, why: The workload is the test., requirement: N01, cases: [{{id: one, set: {{{given}}}}}]}}]
"""
GIVEN = {"root": "root: store", "name": "name: kept", "content": "content: '11'", "files": "files: {a: '11'}"}


def head(name: str, inputs: str, outputs: str) -> str:
    """A contract with one case, which is not tried."""
    given = ", ".join(text for field, text in GIVEN.items() if f"{field}:" in inputs)
    return HEAD.format(name=name, inputs=inputs, outputs=outputs, given=given)


FOLDER = ", ".join(f'"part/{k}": "{bytes([k]).hex() * (30 + k)}"' for k in range(2)) + ', index: "00ff"'
SHORT = 'a: "0102030405", b: "a1a2a3"'
NAMED = "root: {type: root}, name: {type: string}"
FILES = "files: {type: 'map<string, bytes>'}"
CONTRACTS = {
    "Save": head(name="Save", inputs=NAMED + ", content: {type: bytes}", outputs="size: {type: uint64}")
    + f"""
workloads:
  - name: three-saves
    why: One file is saved three times under one name.
    requirement: N01
    steps:
      - {{step: first, set: {{root: store, name: kept, content: "{"11" * 40}"}}}}
      - {{step: second, set: {{root: store, name: kept, content: "{"22" * 60}"}}}}
      - {{step: third, set: {{root: store, name: kept, content: "{"33" * 50}"}}}}
    verify:
      - {{step: load, call: Store.Load_v1, set: {{root: store, name: kept}}, absent: [META_MISSING]}}
  - name: replaced
    why: A file of equal length is saved over what is there already.
    requirement: N01
    before:
      - {{put: {{root: store, path: kept, bytes: "ff"}}}}
      - {{step: once, set: {{root: store, name: kept, content: "{"11" * 40}"}}}}
      - {{put: {{root: store, path: kept.tmp, text: left by a crash}}}}
    steps:
      - {{step: again, set: {{root: {{root: store}}, name: kept, content: "{"22" * 40}"}}}}
    verify:
      - {{step: load, call: Store.Load_v1, set: {{root: store, name: kept}}, absent: [META_MISSING]}}
      - {{step: seen, tree: {{root: store, files: kept}}}}
""",
    "Load": head(name="Load", inputs=NAMED, outputs="content: {type: bytes}"),
    "Publish": head(name="Publish", inputs=f"{NAMED}, {FILES}", outputs="count: {type: uint64}")
    + f"""
workloads:
  - name: two-folders
    why: Two folders of shards are published one after the other.
    requirement: N01
    steps:
      - {{step: first, set: {{root: store, name: one, files: {{{FOLDER}}}}}}}
      - {{step: second, set: {{root: store, name: two, files: {{{FOLDER}}}}}}}
    verify:
      - {{step: one, call: Store.Content_v1, set: {{root: store, name: one}}, absent: [META_MISSING]}}
      - {{step: two, call: Store.Content_v1, set: {{root: store, name: two}}, absent: [META_MISSING]}}
""",
    "Content": head(name="Content", inputs=NAMED, outputs=FILES),
    "Commit": head(name="Commit", inputs="root: {type: root}, " + FILES, outputs="count: {type: uint64}")
    + f"""
workloads:
  - name: one-run
    why: A run is committed, and recovered after a crash at every point.
    requirement: N01
    steps:
      - {{step: commit, set: {{root: run, files: {{{SHORT}}}}}}}
    recover:
      - {{step: recover, call: Store.Recover_v1, set: {{root: run}}}}
    verify:
      - {{step: state, call: Store.Recover_v1, set: {{root: run}}, absent: [{{state: rolled_back}}, {{state: empty}}]}}
      - {{step: current, call: Store.Current_v1, set: {{root: run}}, absent: [META_MISSING]}}
      - {{step: objects, tree: {{root: run, files: "objects/*", where: current}}}}
""",
    "Recover": head(
        name="Recover",
        inputs="root: {type: root}",
        outputs="state: {type: enum, values: [empty, committed, rolled_back]}",
    ),
    "Current": head(name="Current", inputs="root: {type: root}", outputs=FILES),
}


@cache
def library() -> Library:
    """The small library of the writers."""
    with TemporaryDirectory() as folder:
        others = {"errors.yaml": ERRORS} | {f"store/Store.{name}_v1.yaml": text for name, text in CONTRACTS.items()}
        small_spec.write_spec(Path(folder), others=others)
        return load_library(replace(small_spec.SHIPPED, root=Path(folder)))


@cache
def codebook() -> Codebook:
    """The forms of the small library."""
    return codebook_of(library())


@cache
def plan(name: str) -> CrashWorkload:
    """A workload by its name."""
    (found,) = [one for one in crash_workloads(library(), codebook()) if one.id.endswith(f"%{name}")]
    return found


def writer(program: str, *arguments: str) -> str:
    """The command line of a writer; what is not traced of it is forked, as the fakes are."""
    run = f"runpy.run_module('conformance.tests.crash_writers.{program}', run_name='__main__', alter_sys=True)"
    code = f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); {run}"
    return shlex.join([sys.executable, "-S", "-c", code, *arguments])


@cache
def tried(workload: str, backend: str, **options: Any) -> CrashReport:
    """A trial of one writer, every state unless told; tests that ask for the same one share it."""
    return try_workload(plan(workload), codebook(), CrashOptions(backend, **{"states": None, **options}))
