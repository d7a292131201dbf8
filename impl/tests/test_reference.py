"""What the reference promises beyond the answers of its operators: its generator, its messages, untouched inputs."""

import copy

import pytest

from impl.failure import NUMBERS
from impl.reference import backend
from impl.reference.error.registry import REGISTRY
from impl.reference.philox import Words2, Words4, philox
from impl.tests.batch.batch_calls import NEXT_BATCH, batch_params

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_known_answers_of_random123(counter: Words4, key: Words2, expected: Words4) -> None:
    assert philox(counter, key) == expected


def test_the_registry_and_the_numbers_hold_the_same_codes() -> None:
    assert set(REGISTRY) == set(NUMBERS)
    assert len(set(NUMBERS.values())) == len(NUMBERS)


def test_every_message_is_one_constant_sentence_of_its_own() -> None:
    messages = [code.message for code in REGISTRY.values()]
    assert len(set(messages)) == len(messages)
    assert all(message.endswith(".") and message.count(". ") == 0 and "{" not in message for message in messages)


def test_the_inputs_are_left_as_they_were() -> None:
    params = batch_params(index=4, dataset_registry={bytes([7] * 32).hex(): 10})
    before = copy.deepcopy(params)
    backend.call(NEXT_BATCH, params)
    assert params == before
