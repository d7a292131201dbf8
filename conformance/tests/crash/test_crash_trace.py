"""What strace writes, read line by line: no process is started here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from conformance.codec.framing import DIALECTS
from conformance.trial.crash.operation import TOP, DiskImage, Rename, SyncAll, SyncFile, SyncFolder, renumbered
from conformance.trial.crash.reconstruction import Untraceable, reconstruct
from conformance.trial.crash.states import CrashModel, crash_points
from conformance.trial.crash.strace import HERE, Event, events, split
from conformance.trial.crash.workload import answers_by_event

ROOT = "/r"
KEPT = DiskImage({TOP: {"kept": 1, "sub": 2}, 2: {}}, {1: b"12345"})


def x(text: str) -> str:
    """A text as strace -xx writes it."""
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def fd(number: int, path: str) -> str:
    """A descriptor as strace -y -xx writes it."""
    return f"{number}<{x(path)}>"


def read(*lines: str) -> list[Event]:
    """The events of a log."""
    return list(events(f"{line}\n".encode() for line in lines))


def done(lines: Iterable[str], initial: DiskImage = KEPT) -> list[str]:
    """The operations of a log, as they are shown."""
    return [one.text for one in reconstruct(read(*lines), ROOT, initial, "/elsewhere", {})]


def opened(number: int, path: str, flags: str = "O_RDWR", process: int = 1) -> str:
    """The line of an open that worked."""
    return f'{process} openat(AT_FDCWD<{x("/elsewhere")}>, "{x(path)}", {flags}, 0644) = {fd(number, path)}'


def wrote(number: int, path: str, content: str, process: int = 1) -> str:
    """The line of a write that worked."""
    return f'{process} write({fd(number, path)}, "{x(content)}", {len(content)}) = {len(content)}'


def test_arguments_are_parted_outside_brackets_only() -> None:
    vector = b'[{iov_base="", iov_len=5}, {iov_len=1}]'
    assert split(b"3, " + vector + b", 2") == (b"3", vector, b"2")


def test_a_call_that_was_interrupted_in_the_log_is_put_together_and_counted_where_it_began() -> None:
    first, second = read(
        f'1 write({fd(3, "/a")}, "{x("ab")}" <unfinished ...>',
        f"2 close({fd(4, '/b')}) = 0",
        "1 <... write resumed>, 2) = 2",
    )
    assert (first.name, first.process) == ("close", 2)
    assert (second.name, second.strings(), second.result, second.ordinal) == ("write", [b"ab"], 2, 1)


def test_ordinals_count_failed_calls_and_each_process_alone() -> None:
    lines = [f'{p} openat(AT_FDCWD, "{x("no")}", O_RDONLY) = -1 ENOENT (No such file or directory)' for p in (1, 1, 2)]
    assert [event.ordinal for event in read(*lines)] == [1, 2, 1]


def test_what_is_no_call_is_passed_over() -> None:
    assert read("1 +++ exited with 0 +++", "1 --- SIGCHLD {si_signo=SIGCHLD} ---", "nonsense") == []


def test_descriptors_and_flags_are_read() -> None:
    (event,) = read(f'1 openat({fd(7, "/r/ü")}, "{x("n")}", O_WRONLY|O_CREAT, 0644) = {fd(3, "/r/ü/n")}')
    assert (event.descriptor(0).number, event.descriptor(0).path) == (7, "/r/ü")
    assert event.path == "/r/ü/n"
    assert event.has(b"O_CREAT")
    assert not event.has(b"O_TRUNC")
    (here,) = read(f'1 mkdirat(AT_FDCWD<{x("/r")}>, "{x("d")}", 0777) = 0')
    assert here.descriptor(0).number == HERE


def test_duplicated_descriptors_share_an_offset_and_second_openings_do_not() -> None:
    path = "/r/kept"
    lines = [opened(3, path), f"1 dup({fd(3, path)}) = {fd(4, path)}", opened(5, path)]
    lines += [wrote(3, path, "ab"), wrote(4, path, "cd"), wrote(5, path, "e")]
    assert done(lines) == ["write kept [0, 2)", "write kept [2, 4)", "write kept [0, 1)"]


def test_appending_writes_at_the_end_whoever_moved_it() -> None:
    path = "/r/kept"
    lines = [opened(3, path, "O_WRONLY|O_APPEND"), opened(4, path), f"1 ftruncate({fd(4, path)}, 9) = 0"]
    assert done([*lines, wrote(3, path, "ab")]) == ["truncate kept to 9", "write kept [9, 11)"]


def test_a_child_has_its_parents_files_even_if_it_speaks_first() -> None:
    path = "/r/kept"
    born = ["1 vfork( <unfinished ...>", wrote(3, path, "ab", process=2), "1 <... vfork resumed>) = 2"]
    assert done([opened(3, path), *born, wrote(3, path, "cd")]) == ["write kept [0, 2)", "write kept [2, 4)"]


def test_a_thread_shares_what_its_creator_opens_later() -> None:
    clone = "1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88) = 2"
    path = "/r/kept"
    assert done([clone, opened(3, path), wrote(3, path, "ab", process=2)]) == ["write kept [0, 2)"]


def test_relative_paths_follow_the_working_folder_and_folder_descriptors() -> None:
    lines = [
        f'1 chdir("{x(ROOT)}") = 0',
        f'1 rename("{x("kept")}", "{x("sub/../sub/one")}") = 0',
        opened(3, "/r/sub", "O_RDONLY|O_DIRECTORY"),
        f'1 renameat({fd(3, "/r/sub")}, "{x("one")}", AT_FDCWD<{x(ROOT)}>, "{x("two")}") = 0',
        f"1 fsync({fd(3, '/r/sub')}) = 0",
        f'1 unlinkat({fd(3, "/r/sub")}, "{x("../two")}", 0) = 0',
    ]
    assert done(lines) == ["rename kept -> sub/one", "rename sub/one -> two", "fsync sub/", "unlink two"]


def test_a_path_through_a_symbolic_link_leads_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to("root")
    lines = [f'1 unlink("{x(f"{tmp_path}/link/kept")}") = 0', f'1 chdir("{x(f"{tmp_path}/link")}") = 0']
    lines.append(f'1 mkdir("{x("made")}", 0777) = 0')
    found = reconstruct(read(*lines), str((tmp_path / "root").resolve()), KEPT, "/", {})
    assert [one.text for one in found] == ["unlink kept", "mkdir made"]


@pytest.mark.parametrize(
    ("call", "pending"), [(f"fsync({fd(3, '/r/kept')}", [1]), ("sync(", [1]), (f"syncfs({fd(3, '/r/kept')}", [1])]
)
def test_what_ends_during_a_sync_is_not_made_durable_by_it(call: str, pending: list[int]) -> None:
    first, second = wrote(3, "/r/kept", "ab"), wrote(3, "/r/kept", "cd", process=2)
    clone = "1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88) = 2"
    name = call.partition("(")[0]
    lines = [clone, opened(3, "/r/kept"), first, f"1 {call} <unfinished ...>", second, f"1 <... {name} resumed>) = 0"]
    traced = reconstruct(read(*lines), ROOT, KEPT, "/", {})
    *_, last = crash_points([one.operation for one in traced], CrashModel.POSIX)
    assert list(last.pending) == pending


def test_a_sync_of_a_recovery_still_misses_what_ended_during_it_behind_the_killed_run() -> None:
    for sync in (SyncAll(3), SyncFolder(2, before=3), SyncFile(1, before=3)):
        moved = renumbered(sync, lambda inode: inode + 10, 0, earlier=20)
        assert isinstance(moved, SyncAll | SyncFolder | SyncFile)
        assert moved.before == 23


def test_names_are_exchanged_in_one_operation() -> None:
    both = DiskImage({TOP: {"a": 1, "b": 2}}, {1: b"a", 2: b"b"})
    line = f'1 renameat2(AT_FDCWD<{x(ROOT)}>, "{x("a")}", AT_FDCWD<{x(ROOT)}>, "{x("b")}", RENAME_EXCHANGE) = 0'
    (one,) = reconstruct(read(line), ROOT, both, "/", {})
    assert one.operation == Rename(TOP, "a", TOP, "b", 1, swapped=2)


def test_what_happens_outside_the_root_is_passed_over() -> None:
    assert done([opened(3, "/root/kept", "O_WRONLY|O_CREAT"), wrote(3, "/root/kept", "ab")]) == []
    assert done([f'1 symlink("{x("a")}", "{x("/elsewhere/b")}") = 0', f'1 mkdir("{x("d")}", 0777) = 0']) == []


MAP = "1 mmap(NULL, 4096, {}, {}, {}, 0) = 0x7f0000000000"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (MAP.format("PROT_READ|PROT_WRITE", "MAP_SHARED", fd(3, "/r/kept")), "a shared writable mapping of kept"),
        (MAP.format("PROT_WRITE", "MAP_SHARED_VALIDATE", fd(3, "/r/kept")), "a shared writable mapping of kept"),
        (f"1 syncfs({fd(4, '/proc')}) = 0", "syncfs on /proc"),
        (f'1 unlink("{x("/proc/self/fd/3/kept")}") = 0', "unlink by way of /proc/self/fd/3/kept"),
        (f'1 unlink("{x("/proc/7/task/8/cwd/kept")}") = 0', "unlink by way of /proc/7/task/8/cwd/kept"),
        ("1 io_uring_setup(256, {flags=0}) = 5", "io_uring_setup"),
        ("1 io_submit(0x7f, 1, [{}]) = 1", "io_submit"),
        (f"1 copy_file_range({fd(4, '/x')}, NULL, {fd(3, '/r/kept')}, NULL, 5, 0) = 5", "copy_file_range on kept"),
        (f"1 sendfile({fd(3, '/r/kept')}, {fd(4, '/x')}, NULL, 5) = 5", "sendfile on kept"),
        (f"1 fallocate({fd(3, '/r/kept')}, 0, 0, 99) = 0", "fallocate on kept"),
        (f"1 ioctl({fd(3, '/r/kept')}, FICLONE, 4) = 0", "FICLONE"),
        (f'1 setxattr("{x("/r/kept")}", "{x("user.a")}", "{x("v")}", 1, 0) = 0', "setxattr below the root"),
        (f'1 symlink("{x("kept")}", "{x("/r/link")}") = 0', "symlink below the root"),
        (opened(9, "/r/sub", "O_RDWR|O_TMPFILE|O_DIRECTORY"), "O_TMPFILE"),
        (f'1 rename("{x("/r/kept")}", "{x("/elsewhere/kept")}") = 0', "across the border"),
        (f'1 rename("{x("/r/never")}", "{x("/r/made")}") = 0', "never: a name that no traced call made"),
        (wrote(8, "/r/kept", "ab"), "that no traced call opened"),
        (f'1 write({fd(3, "/r/kept")}, "{x("ab")}"..., 5) = 5', "did not print all of it"),
    ],
)
def test_what_has_no_model_is_refused(line: str, said: str) -> None:
    with pytest.raises(Untraceable, match=said):
        done([opened(3, "/r/kept"), line])


@pytest.mark.parametrize(
    "line",
    [
        MAP.format("PROT_READ", "MAP_SHARED", fd(3, "/r/kept")),
        MAP.format("PROT_READ|PROT_WRITE", "MAP_PRIVATE", fd(3, "/r/kept")),
        MAP.format("PROT_READ|PROT_WRITE", "MAP_SHARED", fd(3, "/lib/x.so")),
        f"1 ioctl({fd(3, '/r/kept')}, TCGETS, 0x7f) = -1 ENOTTY (Inappropriate ioctl for device)",
        f"1 fallocate({fd(4, '/x')}, 0, 0, 99) = 0",
    ],
)
def test_what_changes_nothing_is_not_refused(line: str) -> None:
    assert done([opened(3, "/r/kept"), line]) == []


HELLO = '{"jsonrpc":"2.0","id":0,"result":{}}\n'
ONE, TWO = '{"jsonrpc":"2.0","id":1,"result":{}}\n', '{"jsonrpc":"2.0","id":2,"result":{}}\n'


def test_an_answer_counts_once_its_last_byte_is_out_whatever_else_is_written() -> None:
    wire, other = "pipe:[7]", "pipe:[8]"
    written = [HELLO, ONE[:9], "noise", ONE[9:], TWO]
    log = read(*(wrote(1, other if text == "noise" else wire, text) for text in written))
    assert answers_by_event(log, DIALECTS["json"], 2) == {3: 1, 4: 2}


def test_an_answer_counts_where_it_is_written_first_of_two_channels() -> None:
    own, wire = "pipe:[8]", "pipe:[7]"
    written = [(own, HELLO), (wire, HELLO), (wire, ONE), (own, ONE)]
    log = read(*(wrote(1, channel, text) for channel, text in written))
    assert answers_by_event(log, DIALECTS["json"], 1) == {2: 1}


def test_answers_that_cannot_be_seen_give_no_verdict() -> None:
    with pytest.raises(Untraceable, match="stdout"):
        answers_by_event(read(wrote(1, "pipe:[7]", HELLO)), DIALECTS["json"], 1)
