"""Change a bundled Python backend in one place at a time, and list the changes that no quick case notices.

    python .ci/mutation.py impl/reference/batch ... [--jobs N]    the files below these paths; `nox -s mutation -- PATH`

The paths are below impl/reference or impl/vectorized: other code can make other mistakes.

A change that is listed is a question and not yet a fault: it may have no effect, or laws, fuzzing and crash tests may
notice it. Ask them with `tally run -x -k OPERATOR --backend "python .ci/changed.py FILE NUMBER"`. If that is green as
well and the answer is wrong, a case is missing. The same mistake, made in the reference, then becomes a mutant of the
family's mutants.yaml.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from changed import Change, changes  # noqa: E402

from conformance.codec.codebook import Codebook, codebook_of  # noqa: E402
from conformance.contract.library import load_library  # noqa: E402
from conformance.contract.suite_file import read_suite  # noqa: E402
from conformance.trial.client import attempt, driver_of  # noqa: E402
from conformance.trial.mutants.run import CoveredFunctions, deciding_cases, footprints  # noqa: E402
from conformance.vectors.case import Case  # noqa: E402
from conformance.vectors.frozen.corpus import load_corpus  # noqa: E402

REFERENCE: Final = Path("impl", "reference")
CHANGED: Final = (REFERENCE, Path("impl", "vectorized"))
SECONDS: Final = 6.0  # an endless loop is noticed as well
SHOWN: Final = 20  # changes between two lines of progress: ten seconds, about


@cache
def corpus() -> tuple[Codebook, tuple[Case, ...]]:
    """The suite's forms and the cases that decide about mutants."""
    library = load_library(read_suite(ROOT))
    return codebook_of(library), deciding_cases(load_corpus(library.suite))


def around(tree: ast.Module, line: int, file: Path) -> frozenset[str]:
    """The functions around a line, as footprints name them."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    first = {node: min([node.lineno, *(part.lineno for part in node.decorator_list)]) for node in functions}
    found = [first[node] for node in functions if first[node] <= line <= (node.end_lineno or line)]
    return frozenset(f"{file.relative_to(REFERENCE).as_posix()}:{one}" for one in found)


def is_noticed(file: Path, number: int, cases: Sequence[Case]) -> bool:
    """Whether a case goes wrong with a change; asking ends with the first one."""
    backend = f"{sys.executable} -P {Path(__file__).with_name('changed.py').resolve()} {file} {number}"
    found = attempt(backend, cases, corpus()[0], SECONDS, until_wrong=True)
    return bool(found.refusal or found.wrong)


def declared_by(backend: str) -> Sequence[Case]:
    """The cases whose operators a bundled backend has."""
    codebook, cases = corpus()
    process, hello = driver_of(backend, codebook).start()
    process.kill()
    return [case for case in cases if case.operators <= hello.operators]


def unnoticed(file: Path, covered: CoveredFunctions | None, jobs: int) -> Iterator[str]:
    """A line for each change of a file that no case notices; without `covered` it asks every case of the backend."""
    text = (ROOT / file).read_text("utf-8")
    tree = ast.parse(text)
    # By digest, so that cases of many groups come early: the first group that reaches a change mostly notices it.
    cases = sorted(declared_by(file.parts[1]), key=lambda case: case.digest)

    def tried(numbered: tuple[int, Change]) -> str:
        number, change = numbered
        if number % SHOWN == 0:
            print(f"{file}: change {number}", file=sys.stderr)
        reaching = cases
        if covered is not None and (within := around(tree, change.line, file)):
            reaching = [case for case in cases if covered.runs(case.id, within)]
        if is_noticed(file, number, reaching):
            return ""
        return f"{file}:{change.line} {number}: {change.said} | {text.splitlines()[change.line - 1].strip()}"

    with ThreadPoolExecutor(jobs) as pool:
        yield from filter(None, pool.map(tried, enumerate(changes(tree))))


def main() -> int:
    """Try the changes of the files that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / REFERENCE])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    within = [path.resolve() for path in options.paths]
    homes = [ROOT / folder for folder in CHANGED]
    if wrong := [path for path in within if not path.exists() or not any(map(path.is_relative_to, homes))]:
        expected = " or ".join(map(str, CHANGED))
        parser.error(f"{wrong[0]}: expected a file or folder of {expected}; `git ls-files impl` lists them")
    found = [file for path in within for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    files = [file.relative_to(ROOT) for file in found]
    covered = None
    if any(file.is_relative_to(REFERENCE) for file in files):
        print("every quick case once, to see which functions it runs: about a minute", file=sys.stderr)
        covered = footprints(corpus()[1], corpus()[0])
        assert covered is not None, "the suite's tally.toml names no traced reference"
    for file in files:
        print(f"{file}: {len(changes(ast.parse((ROOT / file).read_bytes())))} changes", file=sys.stderr)
        for line in unnoticed(file, covered if file.is_relative_to(REFERENCE) else None, options.jobs):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
