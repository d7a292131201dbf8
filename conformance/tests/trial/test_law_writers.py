"""What the laws of the file queue write is read by others than the backends: CPython, its json, and NumPy."""

from __future__ import annotations

import io
import json
import pickle
from random import Random
from typing import Any, NoReturn

import numpy as np
import pytest

from checks.generators import batch_files, pickles
from checks.generators.batch_files import json_text, npy
from checks.generators.pickles import PickleWriter

SEEDS = range(200)
VALUE = {"a": [1, -1, 0, 255, 2**16, -(2**31)], "é": 'é€😀\\u0041\n\0"\\', "b": {"c": [[], {}, [1]], "d": ["x" * 256]}}


def typed(value: Any) -> Any:
    """A value with lists for tuples, in which 1 and True are two."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    return [*map(typed, value)] if isinstance(value, list | tuple) else (type(value), value)


def no_number(text: str) -> NoReturn:
    raise ValueError(text)


def read(content: bytes) -> Any:
    """The value of a pickle; None where it has an integer with leading zeros, which Python does not read."""
    try:
        return pickle.loads(content)
    except ValueError as error:
        if "base 0" not in str(error):
            raise
        return None


def test_a_json_text_is_read_by_python_and_each_fault_refused() -> None:
    for seed in SEEDS:
        assert typed(json.loads(json_text(VALUE, Random(seed)))) == typed(VALUE)
    for fault in batch_files._NOT_JSON:
        with pytest.raises(ValueError, match=r"."):
            json.loads(json_text(VALUE, Random(0), fault), parse_constant=no_number)


def test_a_pickle_is_read_by_python_unless_it_has_leading_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "_FRAMED", 0)  # Python compares the length of a frame, the contract does not
    found = [one for seed in SEEDS if (one := read(PickleWriter(Random(seed)).pickle(VALUE))) is not None]
    assert len(found) > len(SEEDS) / 4
    assert all(typed(one) == typed(VALUE) for one in found)


def test_an_array_is_read_by_numpy() -> None:
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    for seed in SEEDS:
        assert (np.load(io.BytesIO(npy(array, Random(seed)))) == array).all()
