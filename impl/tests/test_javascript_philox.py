"""The generator and the exact arithmetic of the JavaScript backend, which no operator shows by themselves."""

import pytest

from impl.tests.javascript_process import CARRY_SEED, MAX, SEED, Native, evaluate

pytestmark = pytest.mark.usefixtures("javascript")  # without node there is nothing to test


def test_philox_gives_the_known_answers_of_random123() -> None:
    cases = [
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ]
    script = f"""import {{ philox4x32 }} from "./philox.js";
        const encrypted = (counter, key) => {{
          const block = new Uint32Array(4);
          philox4x32(...counter, ...key, block);
          return [...block];
        }};
        console.log(JSON.stringify({[[counter, key] for counter, key, _ in cases]}.map((c) => encrypted(...c))));"""
    assert [" ".join(f"{word:08x}" for word in block) for block in evaluate(script)] == [words for *_, words in cases]


@pytest.mark.parametrize(
    ("seed", "counters", "draws"),
    [
        (SEED, None, "7bdd3fa0b6dfb348 bd52d5b20eb5c9e0 a63477fbe4f68558 049dc46e00a9fbf3"),
        (CARRY_SEED, [[0, 0, 1, 0], [1, 0, 1, 0]], "dab8d620e3b93bde ceccb48a9c3dc00b 0700a3bad364bee2"),
    ],
)
def test_draws_increment_a_128_bit_counter_and_then_encrypt(seed: bytes, counters: Native, draws: str) -> None:
    script = f"""import {{ DrawStream }} from "./philox.js";
        const stream = new DrawStream(Buffer.from("{seed.hex()}", "hex"));
        const made = Array.from({{ length: {len(draws.split())} }}, () => [[...stream.next()], [...stream.counter]]);
        console.log(JSON.stringify(made));"""
    made = evaluate(script)
    assert [f"{words[1]:08x}{words[0]:08x}" for words, _ in made] == draws.split()
    assert counters is None or [counter for _, counter in made][: len(counters)] == counters


def test_the_remainder_of_a_64_bit_draw_is_exact() -> None:
    values = [0, 1, 2**32, 2**53 + 1, MAX, 0x7BDD3FA0B6DFB348, 0xFFFF0000FFFF0001]
    divisors = [1, 2, 3, 65537, 2**31 - 1, 2**32 - 5, 2**32]
    pairs = [(value, divisor) for value in values for divisor in divisors]
    words = [[value & 0xFFFFFFFF, value >> 32, divisor] for value, divisor in pairs]
    script = f"""import {{ remainder64 }} from "./philox.js";
        console.log(JSON.stringify({words}.map((words) => remainder64(...words))));"""
    assert evaluate(script) == [value % divisor for value, divisor in pairs]
