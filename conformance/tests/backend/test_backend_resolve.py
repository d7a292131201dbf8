"""A backend string becomes a command, or a sentence that says what it should have been."""

from __future__ import annotations

import os
import site
import subprocess
import sys
from pathlib import Path
from zoneinfo import TZPATH

import pytest

from conformance.backend import resolve as module
from conformance.backend.resolve import BackendNotFound, resolve, time_zone
from conformance.tests.processes import ROOT
from conformance.tests.small_spec import SHIPPED


@pytest.mark.parametrize("name", [*SHIPPED.backends, "mutant:big-endian-seed"])
def test_a_bundled_backend_is_a_process_that_a_users_impl_cannot_shadow(name: str) -> None:
    command = resolve(name, SHIPPED, "cbor")
    assert command.arguments == (sys.executable, "-P", "-m", "impl.serve", name)
    assert command.environment["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)
    assert command.environment["TALLY_WIRE"] == "cbor"


def test_a_python_object_is_served_by_the_worker() -> None:
    command = resolve("python:package.module:object", SHIPPED)
    worker = ("-P", "-m", "conformance.backend.worker", "package.module:object")
    assert command.arguments[1:] == (*worker, str(SHIPPED.spec))
    assert command.in_process == ""
    assert resolve("python:package.module:object", SHIPPED, same_process=True).in_process == "package.module:object"


def test_a_users_own_search_path_comes_after_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere/else")
    assert resolve("reference", SHIPPED).environment["PYTHONPATH"] == os.pathsep.join([str(ROOT), "/somewhere/else"])


def test_an_installed_harness_does_not_put_its_neighbours_before_the_standard_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(module, "_ROOT", Path(site.getsitepackages()[0]))
    assert resolve("reference", SHIPPED).environment["PYTHONPATH"] == ""


def test_a_command_line_is_split_as_a_shell_would_and_keeps_the_users_environment() -> None:
    command = resolve(f"{sys.executable} 'my backend.py' --fast", SHIPPED)
    assert command.arguments == (sys.executable, "my backend.py", "--fast")
    assert command.environment.get("PYTHONPATH") == os.environ.get("PYTHONPATH")


@pytest.mark.parametrize("text", ["reference", "mutant:big-endian-seed", "python:package.module", sys.executable])
def test_every_backend_starts_away_from_utc_whatever_the_users_time_zone(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert resolve(text, SHIPPED).environment["TZ"] == time_zone()


@pytest.mark.parametrize("folders", [TZPATH, ()], ids=["with-zones", "without-zones"])
def test_the_time_zone_has_an_offset_of_half_an_hour_and_daylight_saving(
    folders: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TZPATH", folders)
    zone = time_zone.__wrapped__()
    told = [sys.executable, "-c", "import time; print(time.timezone, time.daylight)"]
    said = subprocess.run(told, env={"TZ": zone}, capture_output=True, text=True, check=True).stdout.split()
    assert said == ["12600", "1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the backend string is empty"),
        ("   ", "the backend string is empty"),
        ("python:", "names no module"),
        ("node 'backend.js", "cannot be split"),
        ("no-such-command --x", "command not found: 'no-such-command'; a backend is one of reference"),
        ("PORT=1 python b.py", "'PORT=1' has a meaning for a shell alone, and none reads this command; use: sh -c '"),
        ("~/b.py", "'~/b.py' has a meaning for a shell alone, and none reads this command; use: sh -c '~/b.py'"),
        (str(ROOT), "is a folder; name a program in it"),
        (str(ROOT / "pyproject.toml"), "is a file that cannot be executed"),
    ],
)
def test_a_string_that_names_nothing_is_explained(text: str, said: str) -> None:
    with pytest.raises(BackendNotFound) as error:
        resolve(text, SHIPPED)
    assert said in str(error.value)
