"""A process of the JavaScript backend, spoken to over either wire, and the wire forms of native values."""

import itertools
import json
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import cbor2

from conftest import absent
from impl.reference import backend as reference
from impl.wire.codec import Form, compile_codec, compile_parameters
from impl.wire.json_form import JsonForm, NativeForm, write_value

BACKEND = Path(__file__).parents[2] / "javascript"

JSON = JsonForm()
Json = Any
Native = Any


class Value(NamedTuple):
    """An item of the self-describing type; a tuple of pairs is a map in that order."""

    item: Native


def json_form(native: Native) -> Json:
    """Return the JSON wire form of a native value."""
    match native:
        case Value(item):
            return write_value(item)
        case bool() | str() | None:
            return native
        case int():
            return str(native)
        case float():
            return struct.pack(">d", native).hex()
        case bytes():
            return native.hex()
        case list():
            return [json_form(item) for item in native]
        case dict():
            return {key: json_form(item) for key, item in native.items()}
    raise TypeError(type(native))


def cbor_form(native: Native) -> Native:
    """Return the native value as cbor2 takes and gives it."""
    match native:
        case Value(item):
            return dict(item) if isinstance(item, tuple) else item
        case list():
            return [cbor_form(item) for item in native]
        case dict():
            return {key: cbor_form(item) for key, item in native.items()}
    return native


def untag(tag: cbor2.CBORTag, _immutable: bool) -> list[int]:
    """Return the elements of the one typed array that the backend sends."""
    assert tag.tag == 71
    return [word for (word,) in struct.iter_unpack("<Q", tag.value)]


def wire_form(method: str, params: Mapping[str, Any], form: Form = JSON) -> dict[str, Any]:
    """Return the wire form of native inputs, as the annotations of the reference's operator say."""
    operator = reference.method(method)
    written = {}
    for name, item in compile_parameters(operator, NativeForm())(params).items():
        hint = get_type_hints(operator, include_extras=True)[name]
        inner = [choice for choice in get_args(hint) if choice is not type(None)]
        write = compile_codec(inner[0] if type(None) in get_args(hint) else hint, form).write
        written[name] = item if write is None else write(item)
    return written


def node() -> str:
    """Return the path of node; without it nothing here can run."""
    return shutil.which("node") or absent("node")


class Backend:
    """One process of the backend, or of another command, spoken to over one wire."""

    def __init__(self, wire: str, command: Sequence[str] | None = None) -> None:
        self.wire = wire
        command = command or [node(), str(BACKEND / "serve.js")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        # The decoder must ask for no more than an item needs: a read-ahead would wait for the next answer.
        self.items = cbor2.CBORDecoder(self.output, tag_hook=untag, read_size=1)
        self.ids = itertools.count(1)

    def form(self, native: Native) -> Native:
        return json_form(native) if self.wire == "json" else cbor_form(native)

    def encode(self, message: Json) -> bytes:
        return json.dumps(message).encode() + b"\n" if self.wire == "json" else cbor2.dumps(message)

    def request(self, identifier: int, method: str, params: Native) -> bytes:
        return self.encode({"jsonrpc": "2.0", "id": identifier, "method": method, "params": self.form(params)})

    def send(self, data: bytes) -> None:
        self.input.write(data)
        self.input.flush()

    def receive(self) -> Json:
        return json.loads(self.output.readline()) if self.wire == "json" else self.items.decode()

    def ask(self, method: str, params: Native) -> Json:
        return self.ask_form(method, self.form(params))

    def ask_form(self, method: str, params: Json) -> Json:
        """Ask with params that are in the form of the wire already."""
        identifier = next(self.ids)
        self.send(self.encode({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}))
        answer = self.receive()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", identifier)
        return answer

    def call(self, method: str, params: Native) -> Json:
        answer = self.ask(method, params)
        assert set(answer) == {"jsonrpc", "id", "result"}, answer
        return answer["result"]

    def refuse(self, method: str, params: Native) -> Json:
        answer = self.ask(method, params)
        assert set(answer) == {"jsonrpc", "id", "error"}, answer
        return answer["error"]

    def finish(self) -> int:
        """Close stdin and return the exit status."""
        self.input.close()
        status = self.process.wait(timeout=20)
        self.output.close()
        return status
