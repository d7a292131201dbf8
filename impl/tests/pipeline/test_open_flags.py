"""Where a system lacks the flags of `os.open` that POSIX has, the queue and the stream work all the same."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
TAKEN_AWAY = """
import mmap, os, signal, subprocess, sys
for name in (
    "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK", "pread", "pwrite", "fork", "killpg",
    "setsid", "mkfifo", "statvfs", "fchown", "chown", "posix_fadvise", "sync", "fdatasync",
):
    delattr(os, name)
for name in [name for name in dir(mmap) if name.startswith("MADV_")]:
    delattr(mmap, name)
for name in ("SIGHUP", "SIGKILL", "SIGQUIT"):
    delattr(signal, name)
for name in ("fcntl", "termios", "resource", "pwd", "grp", "pty", "tty", "syslog"):
    sys.modules[name] = None
"""
EVERY_MODULE = (
    TAKEN_AWAY
    + """
import importlib, pkgutil
for name in ("getuid", "geteuid", "getgid"):
    delattr(os, name)
import conformance, impl, tallystick
for package in (conformance, impl, tallystick):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not {"tests", "skeletons"} & set(found.name.split(".")):
            try:
                importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                if error.name.split(".")[0] not in ("duckdb", "torch", "pyarrow"):
                    raise
print(sum(name.split(".")[0] in ("conformance", "impl", "tallystick") for name in sys.modules))
for name in tallystick.__all__:
    getattr(tallystick, name)
"""
)

# The tests of the queue that Windows runs (`nox -s queue`), and those of what lies under a batch file's name.
QUEUE = ["consumer", "legacy", "meta", "names", "npz", "provider", "sampling", "seeds", "threads", "waiting",
         "what_became", "hostile"]  # fmt: skip
STREAM = [
    "impl/tests/stream/test_stream_file.py::test_a_file_is_mapped_and_serves_its_words",
    "impl/tests/stream/test_stream_checkpoint.py::test_an_interrupted_save_leaves_the_old_checkpoint",
]
TESTS = (
    TAKEN_AWAY
    + """
import pytest
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *sys.argv[1:]]))
"""
)


def ended(program: str, *arguments: str, timeout: int = 60) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, when it is over."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=timeout, check=False)


def test_every_module_is_imported_where_only_posix_has_what_it_needs() -> None:
    done = ended(EVERY_MODULE)
    assert done.stderr == ""
    assert int(done.stdout) > 300


def test_the_queue_passes_its_tests_without_the_flags_and_calls_of_posix() -> None:
    files = [f"impl/tests/pipeline/test_pipeline_{name}.py" for name in QUEUE]
    done = ended(TESTS, *files, *STREAM, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_link_is_not_followed_where_the_flag_for_it_is_missing(tmp_path: Path) -> None:
    program = TAKEN_AWAY + (
        "from pathlib import Path\n"
        "from impl.reference.checkpoint import disk\n"
        "for link in sys.argv[1:]:\n"
        "    try:\n        disk.read(Path(link), 10)\n"
        "    except disk.NotRegular:\n        print('not followed')\n"
    )
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    done = ended(program, str(tmp_path / "link"), str(tmp_path))
    assert (done.stdout, done.stderr) == ("not followed\n" * 2, "")
