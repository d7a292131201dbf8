"""The error registry in JavaScript: every code of the published one and no other."""

from pathlib import Path

import pytest
import yaml

from impl.tests.javascript_equality import Pair
from impl.tests.javascript_process import EMIT, MAX, NEXT_BATCH, TOKEN, Backend, Native, Small, Value, evaluate

ERRORS = Path(__file__).parents[2] / "spec" / "errors.yaml"
EXAMPLES = {"string": "value", "uint64": MAX}


def emit_inputs(code: str, diagnostics: Native) -> dict[str, Native]:
    context = {
        "t": 2**40, "rank": 3, "failure_operator": NEXT_BATCH, "replay_token": TOKEN, "diagnostics": diagnostics
    }  # fmt: skip
    return {"code_id": code, "context": context}


def registry_rows() -> list[dict[str, Native]]:
    rows: list[dict[str, Native]] = yaml.safe_load(ERRORS.read_text(encoding="utf-8"))["errors"]
    return rows


def test_every_code_of_the_registry_is_emitted_whole(pair: Pair) -> None:
    for row in registry_rows():
        diagnostics = {name: EXAMPLES[kind] for name, kind in row.get("diagnostics", {}).items()}
        record = pair.agree(EMIT, emit_inputs(row["code"], diagnostics))["result"]["record"]
        assert {name: record[name] for name in ("severity", "subsystem", "message")} == {
            name: row[name] for name in ("severity", "subsystem", "message")
        }


@pytest.mark.usefixtures("javascript")
def test_the_backend_knows_no_other_codes() -> None:
    script = """import { REGISTRY } from "./error/registry.js"; console.log(JSON.stringify([...REGISTRY.keys()]));"""
    assert sorted(evaluate(script)) == sorted(row["code"] for row in registry_rows())


@pytest.mark.parametrize(
    ("code", "diagnostics"),
    [
        ("constructor", {}),
        ("INVALID_DATASET_KEY", (("dataset_key", "d"), ("dataset_key", "d"))),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": MAX + 1, "world_size": 1}),
    ],
    ids=["of-every-object", "repeated", "too-large"],
)
def test_what_only_json_and_javascript_can_carry_is_refused(
    javascript: Backend, code: str, diagnostics: Native
) -> None:
    inputs = emit_inputs(code, Value(diagnostics))
    inputs["context"]["rank"] = Small(3)
    data = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": EMIT}
    assert javascript.refuse(EMIT, inputs) == {"code": 1801, "message": "CONTRACT_VIOLATION", "data": data}
