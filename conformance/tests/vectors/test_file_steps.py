"""File steps and trees, by themselves: what they do to files, and what they refuse."""

from __future__ import annotations

import io
import os
import pickle
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.vectors.case import FileStep, TreeStep, label
from conformance.vectors.conversation.difference import tree_difference, tree_of
from conformance.vectors.files.file_steps import perform
from conformance.vectors.files.filecodec import Undecodable, Unencodable, decode_file, encode_file
from conformance.vectors.files.temp_roots import Roots, StepRefused, fault_of


def do(roots: Roots, action: str, **body: Any) -> None:
    perform(FileStep(action, {"root": "a", **body}), roots, {})


def look(roots: Roots, path: str = ".", **decode: str) -> dict[str, Any]:
    return tree_of(TreeStep("a", path, decode), roots)


def content(roots: Roots, path: str) -> bytes:
    return (roots.path("a") / path).read_bytes()


@pytest.mark.parametrize(
    ("offset", "mask", "after"), [(0, 1, "01000000"), (3, 255, "000000ff"), (-1, 128, "00000080"), (-4, 2, "02000000")]
)
def test_flip_changes_one_byte(offset: int, mask: int, after: str) -> None:
    with Roots() as roots:
        do(roots, "put", path="f", bytes="00000000")
        do(roots, "flip", path="f", offset=offset, mask=mask)
        assert content(roots, "f").hex() == after


def test_a_flipped_file_keeps_its_time() -> None:
    """A reader that trusts the time of a file must meet a byte that rotted."""
    with Roots() as roots:
        do(roots, "put", path="f", bytes="00000000")
        file = roots.path("a") / "f"
        os.utime(file, ns=(10**18, 10**18))
        do(roots, "flip", path="f", offset=0, mask=1)
        assert file.stat().st_mtime_ns == 10**18


def test_delete_takes_a_file_a_whole_folder_or_a_link_and_not_what_it_leads_to() -> None:
    with Roots() as roots:
        do(roots, "put", path="d/e/f", text="x")
        do(roots, "link", path="l", target="d", symbolic=True)
        do(roots, "delete", path="l")
        assert set(look(roots)) == {"d", "d/e", "d/e/f"}
        do(roots, "delete", path="d")
        assert look(roots) == {}


def test_a_hard_link_is_the_file_and_a_symbolic_one_is_a_link() -> None:
    with Roots() as roots:
        do(roots, "put", path="d/f", text="x")
        do(roots, "link", path="e/hard", target="d/f", symbolic=False)
        do(roots, "link", path="e/soft", target="d/f", symbolic=True)
        tree = look(roots)
        assert tree["e/hard"] == tree["d/f"]
        assert tree["e/soft"] == {"link": "../d/f"}
        assert content(roots, "e/soft") == b"x"


def test_a_link_into_another_root_is_absolute_and_shown_without_its_path() -> None:
    with Roots() as roots:
        do(roots, "link", path="out", target="secret", target_root="b", symbolic=True)
        assert look(roots) == {"out": {"link": "{root:b}/secret"}}
        assert (roots.path("a") / "out").readlink() == roots.path("b") / "secret"


@pytest.mark.parametrize("path", ["", "/etc/passwd", "..", "../b", "a/../../b", "a//b", "./a", "a/.", "a\0b"])
def test_a_path_that_is_not_plain_is_refused(path: str) -> None:
    assert fault_of(path)
    with Roots() as roots, pytest.raises(StepRefused):
        do(roots, "put", path=path, text="x")


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("put", {"path": "out/f", "text": "x"}),
        ("flip", {"path": "out/kept", "offset": 0, "mask": 1}),
        ("truncate", {"path": "out/kept", "size": 0}),
        ("delete", {"path": "out/kept"}),
        ("rename", {"from": "out/kept", "to": "mine"}),
        ("rename", {"from": "own", "to": "out/mine"}),
        ("link", {"path": "out/l", "target": "own", "symbolic": True}),
        ("flip", {"path": "kept", "offset": 0, "mask": 1}),
        ("truncate", {"path": "kept", "size": 0}),
        ("put", {"path": "kept", "text": "x"}),
    ],
)
def test_no_step_follows_a_link_that_a_backend_made_out_of_the_root(
    tmp_path: Path, action: str, body: dict[str, Any]
) -> None:
    (tmp_path / "kept").write_text("kept")
    with Roots() as roots:
        (roots.path("a") / "out").symlink_to(tmp_path)
        (roots.path("a") / "kept").symlink_to(tmp_path / "kept")
        do(roots, "put", path="own", text="own")
        with pytest.raises(StepRefused) as refused:
            do(roots, action, **body)
        assert str(tmp_path) not in str(refused.value)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("kept", "kept")]
    assert (tmp_path / "kept").stat().st_mode & 0o777


@pytest.mark.parametrize("inner", ["a", "a/inner"])
def test_no_step_follows_a_link_that_a_backend_put_in_place_of_a_root(tmp_path: Path, inner: str) -> None:
    (tmp_path / "inner").mkdir()
    with Roots() as roots:
        roots.path(inner)
        shutil.rmtree(roots.path("a"))
        roots.path("a").symlink_to(tmp_path)
        with pytest.raises(StepRefused, match="leads out"):
            do(roots, "put", root=inner, path="x", text="x")
        roots.path("a").unlink()
    assert [file.name for file in tmp_path.rglob("*")] == ["inner"]


def test_no_tree_is_read_through_a_link_out_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    with Roots() as roots:
        (roots.path("a") / "out").symlink_to(tmp_path)
        with pytest.raises(StepRefused, match="leads out"):
            look(roots, "out/below")
        assert set(look(roots)) == {"out"}


@pytest.mark.parametrize(
    ("action", "body", "said"),
    [
        ("flip", {"path": "none", "offset": 0, "mask": 1}, "no file 'none'"),
        ("flip", {"path": "f", "offset": 1, "mask": 1}, "has 1 bytes, none at 1"),
        ("flip", {"path": "f", "offset": -2, "mask": 1}, "none at -2"),
        ("truncate", {"path": "f", "size": 2}, "cannot be cut to 2"),
        ("delete", {"path": "none"}, "No such file"),
        ("rename", {"from": "none", "to": "x"}, "'none': No such file"),
        ("put", {"path": "f/x", "text": ""}, "'f/x': "),
        ("link", {"path": "f", "target": "f", "symbolic": True}, "File exists"),
    ],
)
def test_what_the_files_do_not_allow_is_refused_with_the_path(action: str, body: dict[str, Any], said: str) -> None:
    with Roots() as roots:
        do(roots, "put", path="f", text="x")
        with pytest.raises(StepRefused) as refused:
            do(roots, action, **body)
        assert said in str(refused.value)
        assert str(roots.path("a")) not in str(refused.value)


def test_put_does_not_write_into_a_pipe_that_a_backend_left_nor_wait_for_its_reader() -> None:
    with Roots() as roots:
        pipe = roots.path("a") / "f"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            with pytest.raises(StepRefused, match="no regular file"):
                do(roots, "put", path="f", text="x")
        finally:
            os.close(reader)
        with pytest.raises(StepRefused, match="'f'"):
            do(roots, "put", path="f", text="x")


def test_a_file_longer_than_any_of_a_case_is_known_by_its_length_and_not_read() -> None:
    with Roots() as roots:
        do(roots, "put", path="f", text="")
        os.truncate(roots.path("a") / "f", 1 << 31)
        assert look(roots) == {"f": {"size": 1 << 31}}
        with pytest.raises(StepRefused, match="2147483648 bytes, more than"):
            do(roots, "flip", path="f", offset=0, mask=1)


def test_a_tree_lists_everything_below_its_path() -> None:
    with Roots() as roots:
        do(roots, "put", path="d/f", text="")
        (roots.path("a") / "d" / "empty").mkdir()
        os.mkfifo(roots.path("a") / "pipe")
        nothing = {"sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "size": 0}
        assert look(roots) == {"d": "dir", "d/empty": "dir", "d/f": nothing, "pipe": "special"}
        assert look(roots, "d") == {"empty": "dir", "f": nothing}
        assert look(roots, "d/f") == {".": nothing}
        assert look(roots, "no/such") == {".": "absent"}


def test_a_tree_decodes_what_matches_and_says_what_it_cannot() -> None:
    with Roots() as roots:
        do(roots, "put", path="d/good.cbor", cbor={"int": "7"})
        do(roots, "put", path="d/bad.cbor", bytes="1800ff")
        tree = look(roots, **{"*.cbor": "cbor"})
        assert tree["d/good.cbor"] == {"decoded": {"int": "7"}}
        assert tree["d/bad.cbor"] == {"undecodable": "cbor"}


def test_the_first_difference_of_trees_names_the_path_and_the_part() -> None:
    step = TreeStep("a", "d", {})
    file = {"sha256": "00", "size": 1}
    for expected, found, path, sides in [
        ({"x": file}, {"x": {**file, "sha256": "01"}}, "a/d/x.sha256", ("00", "01")),
        ({"x": file}, {"x": {"sha256": "01", "size": 2}}, "a/d/x.size", (1, 2)),
        ({"x": file}, {"x": "dir"}, "a/d/x", (file, "dir")),
        ({"x": file, "y": "dir"}, {"y": {"link": "x"}}, "a/d/x", (file, "nothing")),
        ({"x": {"decoded": [1, {"b": 2}]}}, {"x": {"decoded": [1, {"b": 3}]}}, "a/d/x.decoded[1].b", (2, 3)),
        ({}, {"x": "dir"}, "a/d/x", ("nothing", "dir")),
    ]:
        apart = tree_difference(step, expected, found)  # type: ignore[arg-type]
        assert apart is not None
        assert (apart.path, apart.expected, apart.actual) == (path, *sides)
    assert tree_difference(step, {"x": file}, {"x": dict(file)}) is None


TENSOR = {"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}
ROUND = [
    ("bytes", "00ff"),
    ("text", "a\nü"),
    ("cbor", {"map": [[{"text": "b"}, {"float": "3ff8000000000000"}], [{"text": "a"}, {"array": [None, True]}]]}),
    ("pickle2", {"map": [[{"text": "b"}, {"float": "3ff8000000000000"}], [{"text": "a"}, {"array": [None, True]}]]}),
    ("npz", [{"name": "m.json", "text": "{}"}, {"name": "x.npy", "tensor": TENSOR}, {"name": "b", "bytes": "ff"}]),
]


@pytest.mark.parametrize(("codec", "value"), ROUND, ids=[codec for codec, _ in ROUND])
def test_a_codec_reads_what_it_writes_and_always_writes_the_same(codec: str, value: Any) -> None:
    assert decode_file(codec, encode_file(codec, value)) == value
    assert encode_file(codec, value) == encode_file(codec, value)


def test_pickled_bytes_do_not_hang_on_which_strings_are_one_object() -> None:
    twin = "".join(["tw", "in"])
    one = {"array": [{"text": twin}, {"text": twin}]}
    two = {"array": [{"text": "".join(["tw", "in"])}, {"text": "".join(["twi", "n"])}]}
    assert encode_file("pickle2", one) == encode_file("pickle2", two)


def test_an_archive_is_stored_in_order_and_read_by_anybody(tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    file.write_bytes(encode_file("npz", ROUND[4][1]))
    with zipfile.ZipFile(file) as archive:
        found = [(one.filename, one.compress_type) for one in archive.infolist()]
    assert found == [("m.json", 0), ("x.npy", 0), ("b", 0)]


def members(compression: int = zipfile.ZIP_STORED, comment: bytes = b"", **arrays: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        archive.comment = comment
        for name, data in arrays.items():
            archive.writestr(f"{name}.npy", data)
    return target.getvalue()


def entries_exchanged(archive: bytes) -> bytes:
    """The archive with the two entries of its directory in the other order."""
    first, second, end = (found.start() for found in re.finditer(b"PK\1\2|PK\5\6", archive))
    return archive[:first] + archive[second:end] + archive[first:second] + archive[end:]


def npy(array: Any, version: tuple[int, int] = (1, 0)) -> bytes:
    target = io.BytesIO()
    np.lib.format.write_array(target, array, version=version)
    return target.getvalue()


def header_of(size: int) -> bytes:
    """An array whose header has so many bytes, most of them blanks."""
    data = npy(np.zeros(2))
    return data[:8] + size.to_bytes(2, "little") + data[10:128].rstrip().ljust(size - 1) + b"\n" + data[128:]


@pytest.mark.parametrize(
    "archive",
    [
        members(x=header_of(4_097)),
        members(x=npy(np.zeros(2))).replace(b"PK\5\6\0\0\0\0\1\0", b"PK\5\6\0\0\0\0\2\0"),
        members(zipfile.ZIP_DEFLATED, x=npy(np.zeros(100))),
        members(x=npy(np.asfortranarray(np.eye(2)))),
        members(x=npy(np.zeros(2, ">i4"))),
        members(x=npy(np.zeros(2), (2, 0))),
        members(x=npy(np.zeros(2)) + b"more"),
        members(x=npy(np.zeros(2)).replace(b"(2,), }", b"(2,)  }")),
        members(x=npy(np.zeros(2)).replace(b" \n", b"\n\n")),
        members(comment=b"note", x=npy(np.zeros(2))),
        b"#!" + members(x=npy(np.zeros(2))),
        members(x=npy(np.zeros(2))) + b"\0",
        entries_exchanged(members(x=npy(np.zeros(2)), y=npy(np.zeros(2)))),
        encode_file("npz", [{"name": "x.npy", "tensor": TENSOR}] * 2),
        members(x=npy(np.zeros(2))).replace(b"PK\1\2\x14\x03\x14\0\0\0", b"PK\1\2\x14\x03\x14\0\x10\0"),
    ],
    ids=[
        *("a long header", "two counts", "compressed", "columns first", "big endian", "NPY 2.0", "more behind"),
        *("another header", "two lines", "a comment", "bytes before", "bytes behind", "another order"),
        *("a name twice", "a flag"),
    ],
)
def test_an_archive_of_another_form_than_the_contracts_know_is_refused(archive: bytes) -> None:
    for right in (npy(np.zeros(2)), header_of(4_096)):
        assert [member["name"] for member in decode_file("npz", members(x=right))] == ["x.npy"]
    with pytest.raises(Undecodable):
        decode_file("npz", archive)


def test_a_database_is_read_back_as_its_tables() -> None:
    statements = ["CREATE TABLE t (a INTEGER, b TEXT)", "INSERT INTO t VALUES (1, 'x'), (NULL, 'y')"]
    assert decode_file("sqlite", encode_file("sqlite", statements)) == [
        {"name": "t", "sql": statements[0], "rows": [[{"int": "1"}, {"text": "x"}], [None, {"text": "y"}]]}
    ]


def test_a_database_without_statements_is_a_file_without_a_byte() -> None:
    assert encode_file("sqlite", []) == b""
    assert decode_file("sqlite", b"") == []


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("bomb",)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        *(("pickle2", pickle.dumps({}, protocol=protocol)) for protocol in (0, 1, 3, 4, 5)),
        ("pickle2", b"\x80\x02}\x94."),
        ("pickle2", pickle.dumps(Bomb(), protocol=2)),
        ("pickle2", b"junk"),
        ("pickle2", pickle.dumps((1, 2, 3), protocol=2)),
        ("npz", b"PK junk"),
        ("cbor", b"\x1b"),
        ("cbor", b"\x00\x00"),
        ("cbor", b"\xc1\x00"),
        ("text", b"\xff"),
        ("sqlite", b"no database at all"),
    ],
)
def test_bytes_that_are_not_the_codec_s_are_refused_and_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, data: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Undecodable):
        decode_file(codec, data)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("codec", "value"),
    [("pickle2", {"bytes": "00"}), ("sqlite", ["CREATE NONSENSE"]), ("npz", [{"name": "x"}]), ("bytes", "0g")],
)
def test_a_value_that_a_codec_cannot_hold_is_refused(codec: str, value: Any) -> None:
    with pytest.raises(Unencodable, match=f"{codec} cannot encode it"):
        encode_file(codec, value)


def test_a_step_without_a_name_is_called_by_its_action_and_number() -> None:
    assert label(FileStep("flip", {}), 3) == "flip-3"
    assert label(TreeStep("a", ".", {}), 1) == "tree-1"
