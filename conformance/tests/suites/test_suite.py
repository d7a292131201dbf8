"""A suite is a folder with a tally.toml: what is wrong in it has a place, and no file of somebody else is obeyed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from conformance.cli.main import status_of
from conformance.contract.library import load_library
from conformance.contract.suite import Suite
from conformance.contract.suite_file import bundled_suite, find_suite, read_suite
from conformance.contract.yaml.source import MalformedContract
from conformance.tests.small_spec import SHIPPED
from conformance.tests.sources import modules, shown, text_of

Capture = pytest.CaptureFixture[str]
WHOLE = """\
[suite]
name = "text"
spec = "contracts"

[backends]
mine = "python mine.py"
other = "python:other:Other"

[derive]
reference = "mine"
confirm = ["other"]

[mutants]
folder = "code"

[run]
jobs = 2
require = "all"
expected-failures = "known.json"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("contracts", "code"):
        (tmp_path / "text" / name).mkdir(parents=True)
    (tmp_path / "text" / "tally.toml").write_text(WHOLE)
    return tmp_path / "text"


def problems(folder: Path, text: str | bytes) -> list[str]:
    (folder / "tally.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(MalformedContract) as caught:
        read_suite(folder)
    return [str(one).replace(f"{folder}/", "") for one in caught.value.problems]


def test_every_table_is_read(folder: Path) -> None:
    suite = read_suite(folder)
    assert (suite.name, suite.spec, suite.vectors) == ("text", folder / "contracts", folder / "vectors")
    assert suite.backends == {"mine": "python mine.py", "other": "python:other:Other"}
    assert (suite.reference, suite.confirm, suite.mutants.folder) == ("mine", ("other",), "code")
    values = {name: one.value for name, one in suite.run.items()}
    assert values == {"jobs": 2, "require": ["all"], "expected-failures": str(folder / "known.json")}
    assert suite.run["jobs"].position.line == 17


def test_a_suite_that_does_not_speak_of_second_derivations_has_not_renounced_them(folder: Path) -> None:
    (folder / "tally.toml").write_text(WHOLE.replace('confirm = ["other"]\n', ""))
    assert read_suite(folder).confirm is None
    (folder / "tally.toml").write_text(WHOLE.replace('confirm = ["other"]', "confirm = []"))
    assert read_suite(folder).confirm == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "text"', "name = text", "tally.toml:2:8: C018 not TOML: Invalid value"),
        ("[backends]", "[backends", "tally.toml:5:10: C018 not TOML"),
        ("spec =", "sp\u0435c =", "Expected '=' after a key in a key/value pair\n    hint: '\u0435' (U+0435)"),
        ("[backends]", "[backend]", "tally.toml:5:1: C018 unknown table [backend]\n    hint: did you mean backends?"),
        ("spec =", "specs =", "tally.toml:3:1: C018 unknown key 'specs' in [suite]\n    hint: did you mean spec?"),
        ('"contracts"', "3", "tally.toml:3:1: C018 spec is 3, not a path below this file, as text"),
        ('"contracts"', '"gone"', "tally.toml:3:1: C018 there is no folder 'gone'"),
        ('"contracts"', '"../x"', "tally.toml:3:1: C018 '../x' leaves the suite"),
        ('"contracts"', '"/etc"', "tally.toml:3:1: C018 '/etc' leaves the suite"),
        ('"known.json"', '"../known.json"', "tally.toml:19:1: C018 '../known.json' leaves the suite"),
        ('folder = "code"', 'folder = "cod"', "tally.toml:14:1: C018 there is no folder 'cod'"),
        ('folder = "code"', 'folder = "cod"\ncommand = "serve {id}"', "tally.toml:14:1: C018 there is no folder 'cod'"),
        ('folder = "code"', 'command = "serve"', "tally.toml:14:1: C018 the command does not say where"),
        ('reference = "mine"', 'reference = "mime"', "tally.toml:10:1: C018 there is no backend 'mime'"),
        ('reference = "mine"\n', "", "tally.toml:9:1: C018 no backend is the reference"),
        ('["other"]', '"other"', "tally.toml:11:1: C018 confirm is 'other', not a list of texts"),
        ("jobs = 2", "jobs = true", "tally.toml:17:1: C018 jobs is True, not a whole number"),
        ("jobs = 2", "jobs = 1.5", "tally.toml:17:1: C018 jobs is 1.5, not a whole number"),
        ("jobs = 2", "maxfal = 2", "C018 unknown key 'maxfal' in [run]\n    hint: did you mean maxfail?"),
        ("jobs = 2", 'quiet = "yes"', "tally.toml:17:1: C018 quiet is 'yes', not true or false"),
        ("jobs = 2", 'format = "json=../x"', "tally.toml:17:1: C018 '../x' leaves the suite"),
        ("jobs = 2", "list = true", "tally.toml:17:1: C018 --list has no default"),
        ("jobs = 2", "timeout = -1", "tally.toml:17:1: C018 timeout is -1, not a number above 0"),
        ('folder = "code"', 'folder = "code"\nseconds = nan', "C018 seconds is nan, not a number above 0"),
        ('folder = "code"', 'folder = "code"\nbuild = "make \'x"', "C018 the command cannot be split: No closing quot"),
        (
            'folder = "code"',
            'folder = "code"\nbuild = "make"\ncommand = "serve {id}"',
            "tally.toml:15:1: C018 nothing is copied, so nothing is built",
        ),
        ("mine = ", '"my own" = ', "C018 'my own' cannot name a backend"),
        ('name = "text"', 'name = "text"\nlaws = ["a/b"]', "tally.toml:3:1: C018 'a/b' is no module"),
    ],
)
def test_what_is_wrong_has_its_place_and_a_fix(folder: Path, old: str, new: str, said: str) -> None:
    assert WHOLE.count(old) == 1
    found = problems(folder, WHOLE.replace(old, new))
    assert any(said in one for one in found), found
    assert all("\n    hint: " in one for one in found), found


def test_what_follows_from_one_mistake_is_not_told_again(folder: Path) -> None:
    assert len(problems(folder, WHOLE.replace('"contracts"', '"/etc"'))) == 1  # and no link in it is looked at
    assert len(problems(folder, WHOLE.replace('"python mine.py"', '""'))) == 1


def test_a_byte_order_mark_is_no_mistake(folder: Path) -> None:
    (folder / "tally.toml").write_text("\ufeff" + WHOLE, "utf-8")
    assert read_suite(folder).name == "text"


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    assert problems(folder, b"\xff\xfe") == ["tally.toml:1:1: C018 the file is not UTF-8"]


@pytest.mark.parametrize("inside", ["contracts", "contracts/text/op.yaml", "vectors/index.json"])
def test_a_link_that_leaves_the_suite_is_refused(folder: Path, tmp_path: Path, inside: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    link = folder / inside
    if link.is_dir():
        link.rmdir()
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(secret)
    assert "leaves the suite" in problems(folder, WHOLE)[0]


def test_a_link_that_leads_to_itself_is_no_way_out_and_no_contract(folder: Path) -> None:
    (folder / "contracts" / "text").mkdir()
    (folder / "contracts" / "text" / "op.yaml").symlink_to("op.yaml")
    with pytest.raises(MalformedContract, match=r"text/op.yaml:1:1: C001 the file cannot be read: Too many levels"):
        load_library(read_suite(folder))


def test_a_link_inside_the_suite_is_fine(folder: Path) -> None:
    (folder / "contracts" / "again").symlink_to(folder / "code")
    assert read_suite(folder).name == "text"


def test_a_command_finds_the_suite_from_its_folder_upwards(folder: Path) -> None:
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    assert find_suite("", below) == read_suite(folder)
    assert find_suite(str(folder), Path("/")) == read_suite(folder)


@pytest.mark.parametrize("kind", ["folder", "broken link"])
def test_a_settings_file_that_cannot_be_read_is_told_and_not_passed_over(kind: str, folder: Path) -> None:
    settings = folder / "tally.toml"
    settings.unlink()
    settings.mkdir() if kind == "folder" else settings.symlink_to("gone.toml")
    with pytest.raises(MalformedContract, match=r"tally.toml:1:1: C018 the file cannot be read"):
        find_suite("", folder)


def test_the_search_ends_at_a_repository_so_a_suite_outside_must_be_named(folder: Path) -> None:
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    (folder / "a" / ".git").mkdir()
    assert find_suite("", below) == bundled_suite()
    (folder / "a" / "b" / "contracts").mkdir()
    shutil.copy(folder / "tally.toml", folder / "a" / "tally.toml")
    for name in ("contracts", "code"):
        (folder / "a" / name).mkdir()
    assert find_suite("", below).root == folder / "a"  # the root of the repository belongs to it


def test_the_search_ends_below_the_users_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = folder / "a"
    below.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    assert find_suite("", below) == bundled_suite()


@pytest.mark.skipif(os.getuid() != 0, reason="not run: only root can give a file away")
@pytest.mark.parametrize("given", ["", "tally.toml"])
def test_the_search_ends_below_a_folder_of_another_owner(folder: Path, given: str) -> None:
    below = folder / "a"
    below.mkdir()
    os.chown(folder / given, 65534, 65534)
    assert find_suite("", below) == bundled_suite()


def test_the_environment_names_a_suite(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("TALLY_SUITE", str(folder))
    assert status_of(["schema"]) == 2
    assert "contracts:1:1: C006 no contract found" in capsys.readouterr().err


COMMANDS = (["lint"], ["schema"], ["run"], ["vectors", "check"], ["mutants"], ["crash"], ["explain", "A.B"])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_a_suite_and_refuses_one_that_is_not_there(
    command: list[str], tmp_path: Path, capsys: Capture
) -> None:
    assert status_of([*command, "--suite", str(tmp_path)]) == 2
    said = "".join(capsys.readouterr())
    assert "tally.toml:1:1: C018 the file cannot be read: No such file or directory" in said
    assert "Traceback" not in said


def test_a_default_that_its_option_refuses_has_its_place(folder: Path, capsys: Capture) -> None:
    (folder / "tally.toml").write_text(WHOLE.replace("jobs = 2", 'profile = "fast"'))
    assert status_of(["run", "--suite", str(folder)]) == 2
    assert "tally.toml:17:1: C018 profile: 'fast' is not one of" in capsys.readouterr().err


def test_the_harness_knows_no_backend_and_no_family_of_the_bundled_suite() -> None:
    """Their names are in tally.toml, in spec/ and in impl/; in the harness they are a user's own words."""
    names = {*SHIPPED.backends} - {"reference", "javascript"}  # a role, and a language that `new-backend` writes
    families = {one.name for one in SHIPPED.spec.iterdir() if one.is_dir()} - {"schema"}
    parts = f"(?:spec|laws|generators)[/.](?:{'|'.join(sorted(families))})"
    paths = [r"\bimpl\.|\bimpl/", r"^\s*(?:from|import) checks\b", rf"{parts}\b"]
    banned = re.compile("|".join([*(rf"\b{name}\b" for name in sorted(names)), *paths]))
    found = {
        f"{shown(file)}:{number}": line
        for file in modules("conformance", skeletons=True)
        for number, line in enumerate(text_of(file).splitlines(), start=1)
        if banned.search(line)
    }
    assert found == {}


def test_a_suite_is_a_value() -> None:
    assert hash(Suite(Path("/a"))) == hash(Suite(Path("/a"), backends={}))
