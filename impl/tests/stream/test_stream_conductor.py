"""The example's Conductor: phases, budgets, and the calls of the model."""

from collections.abc import Sequence
from pathlib import Path

from examples.stream.conductor import CHUNK_SIZE, Conductor, Context, FollowerCounts, Pulse, begun, main, resumed
from impl.library.stream import ContextStream
from impl.library.token_sources import ListedTokens


class Listening:
    """A model that records its calls."""

    def __init__(self) -> None:
        self.told: list[tuple[list[int], Context, Pulse]] = []
        self.updates = 0

    def process_chunk(self, tokens: Sequence[int], context: Context, pulse: Pulse) -> tuple[int, Context]:
        self.told.append((list(tokens), context, pulse))
        return 0, (*context, len(tokens))

    def update(self, tokens: Sequence[int], context: Context) -> None:
        self.updates += 1

    def state(self) -> bytes:
        return b""


def conducted(boundaries: list[int]) -> tuple[Conductor, Listening]:
    model = Listening()
    return Conductor(ContextStream(ListedTokens(list(range(5 * CHUNK_SIZE)), boundaries, "stop")), model), model


def test_each_phase_ends_with_its_budget() -> None:
    conductor, model = conducted([])
    conductor.run({"Build": 2, "Test": 1, "Stream": None})
    assert [pulse.phase for _, _, pulse in model.told] == ["Build", "Build", "Test", "Stream", "Stream"]
    assert model.updates == 2


def test_a_step_observes_and_then_advances() -> None:
    conductor, model = conducted([])
    conductor.run({"Stream": 3})
    assert [pulse.id for _, _, pulse in model.told] == [0, 1, 2]
    cursor = conductor.stream.cursor()
    assert (cursor.pulse_id, cursor.chunk_id, conductor.pulse.id) == (3, 3, 3)
    assert not conductor.stream.is_mid_step


def test_the_model_is_never_told_of_boundaries() -> None:
    told = {}
    for boundaries in ([], [CHUNK_SIZE // 2, 3 * CHUNK_SIZE]):
        conductor, model = conducted(boundaries)
        conductor.run({"Stream": None})
        told[len(boundaries)] = model.told
    assert [tokens for tokens, _, _ in told[0]] == [tokens for tokens, _, _ in told[2]]
    # The Conductor begins a new context behind a boundary; that is all that differs.
    assert [len(context) for _, context, _ in told[0]] == [0, 1, 2, 3, 4]
    assert [len(context) for _, context, _ in told[2]] == [0, 0, 1, 0, 1]


def test_an_interrupted_run_ends_where_the_uninterrupted_one_does(tmp_path: Path) -> None:
    whole = begun()
    whole.run({"Build": 12, "Test": 4, "Stream": 8})
    first = begun()
    first.run({"Build": 6})
    first.save(tmp_path, "half")
    second = resumed(tmp_path, "half")
    second.run({"Build": 6, "Test": 4, "Stream": 8})
    assert second.stream.cursor() == whole.stream.cursor()
    assert second.model.state() == whole.model.state()
    assert second.foreseen["Stream"] == whole.foreseen["Stream"]
    assert (second.clock, second.fired) == (whole.clock, whole.fired)
    assert second.clock > first.clock > 0
    assert first.foreseen["Build"] + second.foreseen["Build"] == whole.foreseen["Build"]


def test_the_example_runs_and_the_model_learns(tmp_path: Path) -> None:
    main(tmp_path / "new" / "one")
    assert [file.name for file in (tmp_path / "new" / "one").iterdir()] == ["conductor"]
    conductor = begun()
    conductor.run({"Build": 1})
    early = conductor.foreseen["Build"]
    conductor.run({"Build": 1})
    assert conductor.foreseen["Build"] - early > early
    assert isinstance(conductor.model, FollowerCounts)
