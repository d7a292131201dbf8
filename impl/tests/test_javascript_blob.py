"""The checkpoint in one piece, in JavaScript: its lists are the published ones, its answers the reference's."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.container import IDENTITY
from impl.reference.checkpoint.fields import REASONS
from impl.tests.checkpoint_calls import ABSENT, PREFIX, SIGNING_KEY, call, changed, pinned_header
from impl.tests.javascript_equality import Pair, reason_of
from impl.tests.javascript_process import Backend, Value, evaluate

REGISTRY = Path(__file__).parents[2] / "spec" / "checkpoint" / "schemas" / "registry.yaml"
VALIDATE, SERIALIZE = f"{PREFIX}ValidateSchema_v1", f"{PREFIX}Serialize_v1"
RESTORE, MIGRATE = f"{PREFIX}Restore_v1", f"{PREFIX}Migrate_v1"
VERSIONS = ["1.0.0", "1.1.0", "1.1.4", *["1.2.0"] * 8, "1.10.0", "2.0.0", "0.9.0", "01.0.0", "1.0", "", "1.0.0\n"]
ITEMS: list[Any] = [ABSENT, None, True, 0, 7, -1, 2**64 - 1, 7.0, float("nan"), "t", "1.2.0", b"", bytes(31), bytes(32)]
ITEMS += [bytes(33), [], ["t"], {}, {"a": [1.5, None]}, "\U0001f600"]


@pytest.mark.usefixtures("javascript")
def test_the_lists_and_the_schema_are_the_published_ones() -> None:
    published = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))
    script = f"""import {{ Findings }} from "./checkpoint/reasons.js";
        import {{ HEADER_FIELDS, SCHEMAS, NEWEST, MIGRATION_OPERATOR }} from "./checkpoint/schema.js";
        const reasons = {list(REASONS)};
        const decided = reasons.slice(1).map((reason, index) => {{
          const findings = new Findings();
          findings.add("a", reason);
          findings.add("b", reasons[index]);
          return findings.first().reason;
        }});
        const made = [decided, [...HEADER_FIELDS], [...SCHEMAS], Object.values(NEWEST), MIGRATION_OPERATOR];
        console.log(JSON.stringify(made));"""
    decided, fields, schemas, newest, operator = evaluate(script)
    assert decided == list(REASONS)[:-1]  # of two reasons the first of the closed list decides
    assert fields == [[name, {"optional": False} | field] for name, field in published["fields"].items()]
    assert schemas == [[schema["version"], schema["migration_supported_from"]] for schema in published["schemas"]]
    assert ".".join(newest) == published["newest"]
    assert {schema["migration_operator"] for schema in published["schemas"]} == {operator}


def some_headers(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield headers with a few changes each, most of them faults, and with fields in any order."""
    rng = random.Random(seed)
    names = [*pinned_header(), "dp_accountant_state_root_hash", "checkpoint_hash_prev", "extra", "aa", "\U0001f600"]
    for _ in range(count):
        changes = {name: rng.choice(ITEMS) for name in rng.sample(names, rng.randrange(4))}
        if rng.random() < 0.5:
            changes["checkpoint_schema_version"] = rng.choice(VERSIONS)
        fields = list(changed(pinned_header(), changes).items())
        rng.shuffle(fields)
        yield dict(fields)


def test_headers_are_judged_serialized_and_migrated_alike(pair: Pair) -> None:
    reasons = set()
    for header in some_headers(1, 250):
        for version in ("1.0.0", "1.1.0"):
            report = pair.agree(VALIDATE, {"header": header, "schema_version": version})
            reasons |= {error["reason"] for error in report["result"]["errors"]}
        pair.agree(SERIALIZE, {"header": header})
        fixed = {"signing_key": SIGNING_KEY, "migration_policy_hash": bytes(32)}
        pair.agree(MIGRATE, {"header": header, "from_version": "1.0.0", "to_version": "1.1.0", **fixed})
    assert reasons == set(REASONS[:7])


@pytest.mark.parametrize("header", [None, 7, "header", [], b"\xa0", (("t", 1), ("t", 2))])
def test_a_header_that_is_no_map_is_reported(javascript: Backend, header: object) -> None:
    report = javascript.call(VALIDATE, {"header": Value(header), "schema_version": "1.0.0"})
    assert report == {"valid": False, "errors": [{"field_path": "", "reason": "WRONG_TYPE"}]}


def test_blobs_are_restored_or_refused_alike(pair: Pair) -> None:
    rng = random.Random(2)
    names = [*IDENTITY, "checkpoint_hash", "checkpoint_hash_prev", "unheard_of"]
    restored = 0
    for header in some_headers(3, 150):
        try:
            encode_canonical(header)
        except ValueError:
            continue
        hashed = call("Serialize", header=pinned_header())["checkpoint_hash"]
        blob = encode_canonical(["uml_os_checkpoint_v1", header, hashed])
        if rng.random() < 0.6:
            answer = pair.reference(SERIALIZE, {"header": header})
            blob = bytes.fromhex(answer["result"]["checkpoint_blob"]) if "result" in answer else blob
        choices = {name: [7, *([header[name]] * 6 if name in header else ITEMS[1:])] for name in names}
        expected = {name: rng.choice(choices[name]) for name in rng.sample(names, rng.randrange(4))}
        restored += "result" in pair.agree(RESTORE, {"checkpoint_blob": blob, "expected": expected})
    assert restored > 10


def test_damaged_blobs_are_refused_for_the_same_reason(pair: Pair) -> None:
    blob = call("Serialize", header=pinned_header())["checkpoint_blob"]
    rng = random.Random(4)
    for offset in range(0, len(blob), 3):
        flipped = blob[:offset] + bytes([blob[offset] ^ 1 << rng.randrange(8)]) + blob[offset + 1 :]
        for damaged in (flipped, blob[:offset]) if offset % 2 else (flipped,):
            assert "error" in pair.agree(RESTORE, {"checkpoint_blob": damaged, "expected": {}}), offset


@pytest.mark.parametrize("expected", [[], None, 7, {"tenant_id": b"t"}, {"t": 7}, {"manifest_hash": None}])
def test_an_expectation_that_cannot_be_compared_is_refused(pair: Pair, expected: object) -> None:
    blob = call("Serialize", header=pinned_header())["checkpoint_blob"]
    answer = pair.agree(RESTORE, {"checkpoint_blob": blob, "expected": expected})
    assert reason_of(answer)[1].startswith("expected")
