"""A Python object on trial: what the worker gives it, what it may return, and what a crash of it looks like."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from conformance.backend.carrier import Carrier, InProcess
from conformance.backend.command import Process
from conformance.backend.driver import Call, Conversation, Driver
from conformance.backend.hello import BadHello
from conformance.backend.outcome import BadAnswer, Crash, LostBackend, ObservedFailure, ObservedResult, observe
from conformance.backend.resolve import BackendCommand, BackendNotFound, resolve
from conformance.backend.session import Session, SpecSignatures, signatures_of
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS, Dialect
from conformance.contract.suite import Suite
from conformance.tests.backends import START, Talk, codebook_for
from conformance.tests.small_spec import SHIPPED

FIELDS = """
  n: {type: uint64}
  small: {type: int8, optional: true}
  flag: {type: bool, optional: true}
  raw: {type: bytes, optional: true}
  ratio: {type: float64, optional: true}
  indices: {type: "list<uint64>", optional: true}
  places: {type: "map<string, place>", optional: true}
  image: {type: tensor<float32>, optional: true}
  anything: {type: value, optional: true}
"""
SPEC = {
    "errors.yaml": """
        errors:
          - {code: CONTRACT_VIOLATION, number: 1801, subsystem: runtime, severity: FATAL, message: No.}
        """,
    "types.yaml": """
        types:
          default_failure: {type: struct, fields: {failure_code: {type: string}, failure_operator: {type: string}}}
          place: {type: struct, fields: {x: {type: uint64}, name: {type: string, optional: true}}}
        """,
    "test/All_v1.yaml": f"contract: All_v1\ninputs:{FIELDS}outputs:{FIELDS}",
}
WIRE: dict[str, Any] = {
    "n": "18446744073709551615",
    "small": -5,
    "flag": True,
    "raw": "00ff",
    "ratio": "7ff8000000000001",
    "indices": ["1", "18446744073709551615"],
    "places": {"a": {"x": "1"}, "b": {"x": "2", "name": "ü"}},
    "image": {"dtype": "float32", "shape": [1, 1], "data": "AACAPw=="},
    "anything": {"map": [[{"text": "k"}, {"array": [None, {"int": "-5"}, {"float": "3ff0000000000000"}]}]]},
}
HELLO = 'HELLO = {"name": "mine", "version": "1", "operators": ["All_v1"], "max_in_flight": 8}\n'
ECHO = "def hello():\n    return HELLO\ndef call(method, params):\n    return params\n"


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    for name, text in SPEC.items():
        file = tmp_path / "root" / "spec" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
    return Suite(tmp_path / "root")


@pytest.fixture
def codebook(suite: Suite) -> Codebook:
    types = SpecSignatures(suite)["All_v1"]
    return codebook_for(types.inputs, types.outputs, "All_v1")


@pytest.fixture(params=["json", "cbor"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return DIALECTS[request.param]


class Home:
    """A folder where a user keeps modules and runs the harness."""

    def __init__(self, folder: Path, suite: Suite, codebook: Codebook, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.suite, self.codebook = folder, suite, codebook
        folder.mkdir(exist_ok=True)
        monkeypatch.setattr(sys, "path", sys.path.copy())
        monkeypatch.chdir(folder)

    def module(self, text: str, name: str = "mine", hello: str = HELLO) -> None:
        (self.folder / f"{name}.py").write_text(hello + dedent(text))

    def command(self, target: str = "mine") -> BackendCommand:
        return resolve(f"python:{target}", self.suite)

    def start(self, target: str = "mine", dialect: Dialect = DIALECTS["json"]) -> Process:
        command = self.command(target)
        return Process(command.arguments, dialect, START, command.environment)

    def ask(self, carrier: Carrier, dialect: Dialect, **inputs: Any) -> Any:
        """What the harness observes of one call, `n` being 1 unless given."""
        forms = self.codebook["All_v1"]
        id_ = carrier.submit("All_v1", dialect.outgoing(forms.inputs, {"n": "1", **inputs}))
        ((answered, outcome),) = carrier.wait()
        assert answered == id_
        return observe(outcome, "All_v1", self.codebook, dialect)


@pytest.fixture
def home(tmp_path: Path, suite: Suite, codebook: Codebook, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path / "home", suite, codebook, monkeypatch)


def test_every_type_crosses_to_the_object_and_back(home: Home, dialect: Dialect) -> None:
    home.module(ECHO)
    worker = home.start(dialect=dialect)
    hello = worker.hello()
    assert (hello.name, hello.language, hello.wires) == ("mine", "Python", ("json", "cbor"))
    assert home.ask(worker, dialect, **WIRE) == ObservedResult(WIRE)
    assert home.ask(worker, dialect) == ObservedResult({"n": "1"})
    assert worker.settle()


def test_values_are_native(home: Home, dialect: Dialect) -> None:
    home.module(
        """
        import numpy
        WANTED = {
            "n": 2**64 - 1, "small": -5, "flag": True, "raw": b"\\x00\\xff", "indices": [1, 2**64 - 1],
            "places": {"a": {"x": 1}, "b": {"x": 2, "name": "\\u00fc"}}, "anything": {"k": [None, -5, 1.0]},
        }
        class Mine:
            def hello(self):
                return HELLO
            def call(self, method, params):
                image, ratio = params.pop("image"), params.pop("ratio")
                assert image.dtype == numpy.float32 and image.tolist() == [[1.0]]
                assert type(ratio) is float and ratio != ratio
                assert repr(params) == repr(WANTED), params
                return {"n": 0}
        """
    )
    worker = home.start("mine:Mine", dialect)
    worker.hello()
    assert home.ask(worker, dialect, **WIRE) == ObservedResult({"n": "0"})
    worker.kill()


def test_integer_lists_are_arrays_for_an_object_that_says_so(home: Home, dialect: Dialect) -> None:
    home.module(
        """
        import numpy
        def hello():
            return {**HELLO, "arrays": "numpy"}
        def call(method, params):
            assert params["indices"].dtype == numpy.uint64
            return {"n": 0, "indices": params["indices"] + numpy.uint64(1)}
        """
    )
    worker = home.start(dialect=dialect)
    worker.hello()
    assert home.ask(worker, dialect, indices=["1", "2"]) == ObservedResult({"n": "0", "indices": ["2", "3"]})
    worker.kill()


def test_a_contract_failure_is_an_exception_with_a_code_and_data(home: Home, dialect: Dialect) -> None:
    home.module(
        """
        class Refusal(Exception):
            def __init__(self, code, data):
                self.code, self.data = code, data
        def hello():
            return HELLO
        def call(method, params):
            code = "CONTRACT_VIOLATION" if params["n"] == 1 else "NO_SUCH_CODE"
            data = {"failure_code": code, "failure_operator": "All_v1"}
            raise Refusal(code, data if params["n"] < 3 else {"failure_code": 5})
        """
    )
    worker = home.start(dialect=dialect)
    worker.hello()
    record = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": "All_v1"}
    assert home.ask(worker, dialect) == ObservedFailure("CONTRACT_VIOLATION", record)
    undeclared = home.ask(worker, dialect, n="2")
    assert isinstance(undeclared, BadAnswer)
    assert "'NO_SUCH_CODE' (0)" in str(undeclared.error)
    assert isinstance(home.ask(worker, dialect, n="3"), BadAnswer)
    worker.kill()


@pytest.mark.parametrize(
    "returned",
    ["None", "{'n': -1}", "{'n': '1'}", "{}", "{'n': 1, 'more': 2}", "{'n': None}", "[1]", "{'n': 1, 'raw': 'ab'}"],
)
def test_a_result_of_another_type_is_the_harness_to_judge(home: Home, returned: str, dialect: Dialect) -> None:
    home.module(f"def hello():\n    return HELLO\ndef call(method, params):\n    return {returned}\n", "wrong")
    carrier = InProcess("wrong", dialect, home.codebook)
    carrier.hello()
    assert isinstance(home.ask(carrier, dialect), BadAnswer)


@pytest.mark.parametrize(
    ("body", "stderr"),
    [
        ("raise ValueError('no idea')", "ValueError: no idea"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("raise Coded('text', None)", "Coded"),
        ("raise Coded(7, {})", "Coded"),
        ("return {'n': object()}", "NoWireForm: the result of All_v1 holds a object"),
        ("return call(method, params)", "RecursionError"),
        ("import threading, time; threading.Thread(target=time.sleep, args=(9,)).start(); 1 / 0", "ZeroDivisionError"),
    ],
)
def test_any_other_exception_is_a_crash_with_its_traceback(home: Home, body: str, stderr: str) -> None:
    home.module(
        f"""
        class Coded(Exception):
            def __init__(self, code, data):
                self.code, self.data = code, data
        def hello():
            return HELLO
        def call(method, params):
            {body}
        """
    )
    worker = home.start()
    worker.hello()
    with pytest.raises(LostBackend) as lost:
        home.ask(worker, DIALECTS["json"])
    assert lost.value.reason == Crash("it exited with status 70")
    assert stderr in worker.stderr_tail.decode()


def asking(n: int) -> Conversation[Any]:
    def talk() -> Talk:
        (outcome,) = yield [Call("All_v1", {"n": str(n)})]
        return outcome

    return Conversation(str(n), talk)


def test_prints_reads_and_children_leave_the_wire_alone(home: Home) -> None:
    home.module(
        """
        import os, subprocess, sys
        print("imported")
        def hello():
            print("hello", flush=True)
            return HELLO
        def call(method, params):
            print("working")
            os.write(1, b"written\\n")
            sys.stdout.buffer.write(b"buffered\\n")
            sys.stdout.flush()
            subprocess.run(["echo", "child"], check=True)
            assert sys.stdin.read() == ""
            return params
        """
    )
    worker = home.start()
    worker.hello()
    assert home.ask(worker, DIALECTS["json"]) == ObservedResult({"n": "1"})
    assert worker.settle()
    assert worker.stderr_tail == b"imported\nhello\nworking\nwritten\nbuffered\nchild\n"


@pytest.mark.parametrize(
    ("target", "text", "said"),
    [
        ("absent", "", "tally: there is no module 'absent'"),
        ("mine.absent", ECHO, "tally: there is no module 'mine.absent'; it is looked for"),
        ("mine.py", ECHO, "tally: there is no module 'mine.py'; name the module, not its file"),
        ("mine:absent", ECHO, "tally: 'mine' has no 'absent'"),
        ("mine:HELLO", ECHO, "mine.py lacks hello() and call()"),
        ("mine", "def hello():\n    return HELLO\n", "mine.py lacks call()"),
        ("mine", "import absent_too\n", "No module named 'absent_too'"),
        ("mine", "1 / 0\n", "ZeroDivisionError"),
        ("mine", "this is no Python\n", "SyntaxError"),
        ("mine", "raise SystemExit(0)\n", "SystemExit"),
    ],
)
def test_an_object_that_is_not_there_is_named_before_hello(home: Home, target: str, text: str, said: str) -> None:
    home.module(text)
    with pytest.raises(BadHello, match=r"the backend exited \(2\) before the handshake") as bad:
        home.start(target).hello()
    assert said in bad.value.stderr


def test_hello_that_raises_is_shown(home: Home) -> None:
    home.module("def hello():\n    raise RuntimeError('no GPU')\ndef call(method, params):\n    pass\n")
    with pytest.raises(BadHello, match=r"the backend exited \(70\) before") as bad:
        home.start().hello()
    assert "no GPU" in bad.value.stderr


def test_hello_that_is_no_introduction_is_refused(home: Home) -> None:
    home.module("def hello():\n    return 'hi'\ndef call(method, params):\n    pass\n")
    with pytest.raises(BadHello, match=r"the result of tally.hello is str"):
        home.start().hello()


def test_folders_named_like_ours_or_like_the_standard_librarys_shadow_nothing(home: Home) -> None:
    for name in ("impl", "conformance", "json"):
        (home.folder / name).mkdir()
        (home.folder / name / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    home.module(ECHO)
    worker = home.start()
    worker.hello()
    assert home.ask(worker, DIALECTS["json"]) == ObservedResult({"n": "1"})
    worker.kill()


@pytest.mark.parametrize("target", ["first", "own.first"])
def test_a_module_of_the_folder_comes_before_its_namesake_on_the_search_path(
    target: str, home: Home, dialect: Dialect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (home.folder, tmp_path / "other"):
        (folder / "own").mkdir(parents=True)
    for place in ("first.py", "own/first.py"):
        (tmp_path / "other" / place).write_text("raise SystemExit('the wrong one')\n")
        (home.folder / place).write_text(HELLO + ECHO)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
    worker = home.start(target)
    worker.hello()
    worker.kill()
    monkeypatch.syspath_prepend(tmp_path / "other")
    assert InProcess(target, dialect, home.codebook).hello().name == "mine"


def test_a_folder_without_the_module_does_not_hide_its_package_elsewhere(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (home.folder, tmp_path / "other"):
        (folder / "own").mkdir(parents=True)
        (folder / "own" / "__init__.py").touch()
    (tmp_path / "other" / "own" / "second.py").write_text(HELLO + ECHO)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
    worker = home.start("own.second")
    assert worker.hello().name == "mine"
    worker.kill()


def test_a_method_that_no_contract_describes_is_not_found(home: Home) -> None:
    session = Session(object(), signatures_of(home.codebook), "json")
    answer = session.answer({"id": 1, "method": "Other_v1", "params": {}})
    assert answer is not None
    assert answer["error"]["code"] == -32601


def test_the_same_process_answers_as_the_worker_does(home: Home, dialect: Dialect) -> None:
    home.module(ECHO, "same")
    carrier = InProcess("same", dialect, home.codebook)
    assert carrier.hello().name == "mine"
    assert home.ask(carrier, dialect, **WIRE) == ObservedResult(WIRE)
    assert carrier.settle()


def test_in_the_same_process_a_crash_keeps_its_exception(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.module("def hello():\n    return HELLO\ndef call(method, params):\n    return 1 // 0\n", "dividing")
    carrier = InProcess("dividing", DIALECTS["json"], home.codebook)
    carrier.hello()
    with pytest.raises(LostBackend) as lost:
        home.ask(carrier, DIALECTS["json"])
    assert lost.value.reason == Crash("it raised ZeroDivisionError")
    assert isinstance(lost.value.__cause__, ZeroDivisionError)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_driver_holds_conversations_in_the_same_process(home: Home) -> None:
    home.module(ECHO, "driven")
    driver = Driver(resolve("python:driven", SHIPPED, same_process=True), DIALECTS["json"], home.codebook, 1)
    assert len([one for one in driver.run(map(asking, range(5))) if one.lost is None]) == 5
    with pytest.raises(BadHello, match="there is no module 'undriven'"):
        Driver(resolve("python:undriven", SHIPPED, same_process=True), DIALECTS["json"], home.codebook, 1).start()


@pytest.mark.parametrize("text", ["reference", "mutant:x", "node backend.js"])
def test_only_python_objects_can_share_the_process(text: str) -> None:
    with pytest.raises(BackendNotFound, match="only python:module can share ours"):
        resolve(text, SHIPPED, same_process=True)
