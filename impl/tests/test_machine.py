"""The table of a machine's methods."""

import sys

import pytest

from impl.deferred import Machine

METHODS = {"Stream.Open": "open", "Stream.Close": "close"}


def test_the_methods_share_one_state_that_is_made_when_it_is_first_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "impl.reference.stream.machine", raising=False)
    machine = Machine("impl.reference.stream.machine:StreamMachine", METHODS)
    assert list(machine) == list(METHODS)
    assert "Stream.Open" in machine
    assert "Stream.Fly" not in machine
    assert "impl.reference.stream.machine" not in sys.modules
    assert machine["Stream.Open"].__self__ is machine["Stream.Close"].__self__  # type: ignore[attr-defined]


def test_two_machines_have_two_states() -> None:
    one, two = (Machine("impl.reference.stream.machine:StreamMachine", METHODS) for _ in range(2))
    assert one["Stream.Open"].__self__ is not two["Stream.Open"].__self__  # type: ignore[attr-defined]


def test_an_unknown_method_and_a_wrong_place_are_said() -> None:
    with pytest.raises(KeyError):
        Machine("impl.reference.stream.machine:StreamMachine", METHODS)["Stream.Fly"]
    with pytest.raises(AttributeError):
        Machine("impl.reference.stream.machine:Nobody", METHODS)["Stream.Open"]
