"""The traps of the expression engine (DESIGN 4), each held shut by a test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from cel_expr_python import cel

from conformance.codec.form import form_of
from conformance.codec.scalar import IllTyped
from conformance.contract.cel.advice import BadExpression, without_value
from conformance.contract.cel.engine import engine_function
from conformance.contract.cel.expression import TYPE_NAMES, Environment, environment
from conformance.contract.cel.functions import Function
from conformance.contract.types import Field, ListOf, MapOf, Scalar, Struct, Value

CURSOR = Struct((Field("epoch", Scalar("uint64")), Field("global_index", Scalar("uint64"))), "cursor")
INPUTS = Struct(
    (
        Field("count", Scalar("uint64")),
        Field("signed", Scalar("int64")),
        Field("salt", Scalar("bytes16")),
        Field("blob", Scalar("bytes")),
        Field("label", Scalar("string")),
        Field("flag", Scalar("bool")),
        Field("numbers", ListOf(Scalar("uint64"))),
        Field("parts", ListOf(Scalar("bytes"))),
        Field("sizes", MapOf(Scalar("uint64"))),
        Field("cursors", MapOf(CURSOR)),
        Field("steps", ListOf(CURSOR)),
        Field("cursor_in", CURSOR),
        Field("mode", Scalar("string"), optional=True),
        Field("block", Scalar("uint64"), optional=True, default=7),
        Field("settings", Struct((Field("size", Scalar("uint64"), optional=True, default=3),)), optional=True),
        Field("header", Value()),
    )
)
NATIVE: Mapping[str, Any] = {
    "count": 5,
    "signed": -5,
    "salt": bytes(16),
    "blob": b"",
    "label": "d",
    "flag": True,
    "numbers": [0, 1, 2],
    "parts": [],
    "sizes": {"d": 10},
    "cursors": {"d": {"epoch": 1, "global_index": 4}},
    "steps": [{"epoch": 0, "global_index": 9}, {"epoch": 1, "global_index": 0}],
    "cursor_in": {"epoch": 2, "global_index": 6},
    "header": None,
}


@pytest.fixture(scope="module")
def env() -> Environment:
    return environment(INPUTS, None, [("doubled", "count * 2u"), ("inverse", "10u / count")])


def holds(env: Environment, text: str, **changes: Any) -> bool:
    return env.compile(text).holds(env.bind({**NATIVE, **changes}))


def test_bytes_reach_the_engine_beyond_their_first_nul(env: Environment) -> None:
    assert holds(env, "size(salt) == 16")
    assert holds(env, r'blob == b"\x01\x00\x02"', blob=b"\1\0\2")
    assert not holds(env, r'blob == b"\x01"', blob=b"\1\0\2")


def test_bytes_in_lists_and_named_functions_keep_their_nuls(env: Environment) -> None:
    assert holds(env, "parts.all(part, size(part) == 3)", parts=[b"\0\0\0", b"a\0b"])
    assert holds(env, 'hex(blob) == "000100"', blob=b"\0\1\0")
    assert holds(env, "size(sha256(blob)) == 32", blob=b"")


def test_the_engine_itself_would_cut_bytes_at_nul() -> None:
    """The trap is still there: if this fails, the detour over bytearray has become needless."""
    plain = cel.NewEnv(variables={"blob": cel.Type.BYTES})
    assert plain.compile("size(blob)").eval(plain.Activation({"blob": b"a\0b"})).plain_value() == 1


def test_text_reaches_expressions_and_functions_beyond_its_first_nul(env: Environment) -> None:
    assert holds(env, 'label != "a" && size(label) == 3', label="a\0b")
    assert holds(env, "cbor(label) == b'\\x63\\x61\\x00\\x62'", label="a\0b")
    assert holds(env, 'size(sizes) == 2 && !("a" in sizes)', sizes={"a\0b": 1, "a\0c": 2})


@pytest.mark.parametrize("where", [{"label": "a\U0010ffff"}, {"sizes": {"\U0010ffff": 1}}])
def test_text_with_the_stand_in_for_nul_is_refused(env: Environment, where: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="NUL"):
        env.bind({**NATIVE, **where})


@pytest.mark.parametrize(
    "text",
    [
        "count - 6u >= 0u",  # below zero
        "count + 18446744073709551615u > 0u",  # beyond uint64
        "count * 18446744073709551615u > 0u",
        "count / 0u == 0u",
        "count % 0u == 0u",
        "numbers[3] == 0u",
        'sizes["q"] == 0u',
        "uint(signed) == 5u",
    ],
)
def test_an_evaluation_error_is_not_true(env: Environment, text: str) -> None:
    assert not holds(env, text)
    assert not holds(env, f"!({text})")
    assert env.compile(text).evaluate(env.bind(NATIVE)) is None


def test_the_engine_itself_answers_an_error_as_a_truthy_value() -> None:
    """The trap is still there: a caller who tests the answer for truth would take an error for a yes."""
    plain = cel.NewEnv(variables={"count": cel.Type.UINT})
    answer = plain.compile("count / 0u == 0u").eval(plain.Activation({"count": 1}))
    assert bool(answer.plain_value())
    assert answer.type() == cel.Type.ERROR


def test_a_named_function_that_raises_makes_a_guard_not_true(env: Environment) -> None:
    assert not holds(env, "total(numbers) >= 0u", numbers=[2**64 - 1, 1])
    assert not holds(env, "size(prefix(blob, 4u)) == 4", blob=b"abc")


@pytest.mark.parametrize("text", ["has(count)", "has(cursor_in.epoch)", "flag && has( mode )", "has(settings.size)"])
def test_has_does_not_compile_because_it_answers_the_value(env: Environment, text: str) -> None:
    with pytest.raises(BadExpression) as caught:
        env.compile(text)
    assert caught.value.column == text.index("has") + 1
    assert "has_<path>" in caught.value.hint


def test_the_companion_of_an_optional_input_says_whether_it_is_there(env: Environment) -> None:
    assert not holds(env, "has_mode")
    assert holds(env, 'has_mode && mode == "a"', mode="a")
    assert holds(env, "has_mode", mode="")
    assert not holds(env, "has_settings")
    assert holds(env, "has_settings", settings={})


def test_an_absent_optional_input_stands_for_its_default(env: Environment) -> None:
    assert holds(env, "block == 7u")
    assert holds(env, "block == 0u", block=0)
    assert holds(env, "settings.size == 3u")
    assert holds(env, "settings.size == 0u", settings={"size": 0})


def test_a_comprehension_beyond_ten_thousand_steps_is_not_true_and_a_named_function_has_no_such_limit(
    env: Environment,
) -> None:
    short, long = list(range(1000)), list(range(20_000))
    bulk = "numbers.all(number, number < 30000u)"
    assert holds(env, bulk, numbers=short)
    assert not holds(env, bulk, numbers=long)
    error = env.compile(bulk).error(env.bind({**NATIVE, "numbers": long}))
    assert without_value(error)[0] == "its comprehensions take more than 10,000 steps"
    assert holds(env, "all_below(numbers, 30000u)", numbers=long)


def test_true_is_no_number_on_the_wire_although_the_engine_would_take_it(env: Environment) -> None:
    assert holds(env, "count == 1u", count=True)
    for wire in (True, 1, 1.0, "1.0", "+1", "01"):
        with pytest.raises(IllTyped):
            form_of(Scalar("uint64")).check(wire)
    with pytest.raises(IllTyped):
        form_of(Scalar("uint32")).check(True)


@pytest.mark.parametrize(
    "text",
    ["count == 5", "signed == 5u", "count < signed", "label == 5u", "flag == 1", "salt == label", "count"],
)
def test_types_are_checked_before_anything_is_evaluated(env: Environment, text: str) -> None:
    with pytest.raises(BadExpression):
        env.compile(text)


def test_structs_are_dotted_variables_and_maps_and_lists_of_structs_are_columns(env: Environment) -> None:
    assert holds(env, "cursor_in.epoch == 2u && cursor_in.global_index == 6u")
    assert holds(env, 'cursors.epoch["d"] == 1u && cursors.global_index["d"] == 4u')
    assert holds(env, '"d" in cursors.epoch && !("q" in cursors.epoch)')
    assert holds(env, "steps.global_index == [9u, 0u]")


@pytest.mark.parametrize("name", sorted(TYPE_NAMES))
def test_an_input_named_like_a_type_leaves_the_other_inputs_their_expressions(name: str) -> None:
    env = environment(Struct((Field(name, Scalar("uint64")), Field("other", Scalar("uint64")))), None, [])
    assert env.compile("other > 0u").holds(env.bind({name: 0, "other": 1}))
    with pytest.raises(BadExpression, match=f"^{name} has no value"):
        env.compile(f"{name} > 0u")


@pytest.mark.parametrize("name", sorted(TYPE_NAMES))
def test_a_field_named_like_a_type_and_a_list_of_structs_so_named_keep_their_expressions(name: str) -> None:
    inner = Struct((Field(name, Scalar("uint64")),))
    env = environment(Struct((Field("steps", ListOf(inner)), Field(name, ListOf(inner)))), None, [])
    bound = env.bind({"steps": [{name: 1}], name: [{name: 2}]})
    assert env.compile(f"steps.{name}[0] == 1u && {name}.{name}[0] == 2u").holds(bound)


def test_the_types_that_no_variable_can_be_named_after_are_those_of_the_engine() -> None:
    for name in TYPE_NAMES:
        with pytest.raises(RuntimeError, match="ALREADY_EXISTS"):
            cel.NewEnv(variables={name: cel.Type.INT}).compile("1 == 1")


def test_a_self_describing_value_is_its_cbor_bytes(env: Environment) -> None:
    assert holds(env, 'hex(header) == "a16164f6"', header={"d": None})


def test_a_let_that_does_not_evaluate_leaves_what_uses_it_not_true(env: Environment) -> None:
    assert holds(env, "doubled == 10u && inverse == 2u")
    assert not holds(env, "inverse == inverse", count=0)
    assert holds(env, "count == 0u || inverse > 0u", count=0)
    assert holds(env, "doubled == 0u", count=0)


def test_lets_see_the_lets_before_them() -> None:
    chained = environment(INPUTS, None, [("one", "count + 1u"), ("two", "one + 1u"), ("three", "two + one")])
    assert chained.compile("three == 13u").holds(chained.bind(NATIVE))


def test_a_named_function_leaves_no_large_argument_in_memory() -> None:
    kinds = (cel.Type.BYTES, cel.Type.List(cel.Type.INT), cel.Type.Map(cel.Type.STRING, cel.Type.INT))
    sized = engine_function(lambda *arguments: sum(map(len, arguments)), kinds, cel.Type.INT)
    arguments = (bytearray(b"abc"), [1, 2], {"a": 1})
    assert sized(*arguments) == 6
    assert arguments == (bytearray(), [], {})


def test_what_a_named_function_gives_back_stays_though_it_is_an_argument() -> None:
    numbers = cel.Type.List(cel.Type.INT)
    assert engine_function(lambda items: items, (numbers,), numbers)([1, 2]) == [1, 2]


def test_what_a_named_function_answers_is_emptied_after_the_evaluation() -> None:
    """Also where the evaluation fails."""
    made = list[list[int]]()

    def some() -> list[int]:
        made.append([1, 2, 3])
        return made[-1]

    known = environment(Struct(()), None, [], (Function("some", [[]], cel.Type.List(cel.Type.INT), some),))
    bound = known.bind({})
    assert known.compile("some()", None).evaluate(bound) == [1, 2, 3]
    assert known.compile("some() + some()", None).evaluate(bound) == [1, 2, 3, 1, 2, 3]
    assert known.compile("some().all(one, one > 0) && some() == some()").holds(bound)
    assert known.compile("some()[5] + some()[0]", None).evaluate(bound) is None
    assert made
    assert not any(made)


def test_an_emptied_argument_is_the_engines_copy() -> None:
    known = environment(Struct((Field("data", Scalar("bytes")), Field("numbers", ListOf(Scalar("uint64"))))), None, [])
    bound = known.bind({"data": b"abc", "numbers": [1, 2]})
    twice = "sha256(data) == sha256(data) && size(data) == 3 && total(numbers) == 3u && total(numbers + [1u]) == 4u"
    expression = known.compile(f"{twice} && size(numbers) == 2")
    assert [expression.holds(bound), expression.holds(bound)] == [True, True]



@pytest.mark.parametrize("sent", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("text", ["stopped(1u) == 1u", "stopped(1u) == 1u || true", "size(halted([1u])) == 0"])
def test_a_signal_inside_a_named_function_ends_the_command_and_not_only_the_expression(sent: str, text: str) -> None:
    """The engine makes an error of the expression of every exception, even of Ctrl-C."""
    program = f"""
import os, signal
from cel_expr_python import cel
from conformance.cli.main import Terminated, _end_on_signals
from conformance.contract.cel.expression import environment
from conformance.contract.cel.functions import Function
from conformance.contract.types import Struct

def stop(value):
    os.kill(os.getpid(), signal.{sent})
    return value

numbers = cel.Type.List(cel.Type.UINT)
functions = [
    Function("stopped", [[cel.Type.UINT]], cel.Type.UINT, stop), Function("halted", [[numbers]], numbers, stop)
]
known = environment(Struct(()), None, [], functions)
expression, bound = known.compile({text!r}), known.bind({{}})
signal.signal(signal.SIGINT, signal.default_int_handler)
_end_on_signals()
try:
    expression.holds(bound)
except (KeyboardInterrupt, Terminated) as error:
    print(type(error).__name__, known.compile("1u == 1u").holds(bound))
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    name = {"SIGTERM": "Terminated", "SIGINT": "KeyboardInterrupt"}[sent]
    assert shown.stdout.split() == [name, "True"], shown.stderr
