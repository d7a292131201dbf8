"""Groups whose traces the harness derives from a machine: a bounded, deterministic search through its states."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from conformance.contract.machine import State
from conformance.contract.model import Contract
from conformance.contract.suggest import nearest
from conformance.contract.yaml.steps import kebab
from conformance.vectors.case import HarnessStep, Question, QuestionCall, RestartStep
from conformance.vectors.conversation.state_tracking import (
    OUTSIDE,
    SUCCEEDS,
    UNKNOWN_HANDLE,
    UNSURE,
    CallEffect,
    MachineCall,
    Model,
)
from conformance.vectors.draft import Unusable, YamlPlace
from conformance.vectors.leaf import is_root
from conformance.vectors.questions.filedraft import FileDraft, roots_of
from conformance.vectors.questions.group import Expansion

_OWN: Final = re.compile(r"-[0-9]+\Z")  # the end of the root names of a second or third handle


@dataclass(slots=True)
class TraceDraft:
    """A trace under construction: its steps in order, and its calls by name."""

    expansion: Expansion
    steps: list[QuestionCall | HarnessStep] = field(default_factory=list)
    calls: dict[str, QuestionCall] = field(default_factory=dict)

    def ask(self, move: MachineCall, handle: Any = None, number: int = 1) -> str:
        """Add a call and return the name of the step. `number` is the number of the handle that the call opens."""
        contract = self.expansion.codebook[move.operator].contract
        method = contract.method
        assert method is not None
        name = f"{kebab(method.name)}-{len(self.calls) + 1}"
        wire = own_roots(contract, move.wire, number)
        if handle is not None and method.takes:
            wire[method.takes] = handle
        self.calls[name] = QuestionCall(name, move.operator, wire)
        self.steps.append(self.calls[name])
        return name

    def question(self, slug: str) -> Question:
        """The question with the file steps that prepare the machine, then the steps of this trace."""
        before = given_steps(self.expansion, roots_of(self.expansion, self.calls))
        return self.expansion.question(slug, (*before, *self.steps), self.expansion.place)


def given_steps(expansion: Expansion, roots: tuple[str, ...]) -> tuple[HarnessStep, ...]:
    """The file steps that prepare a machine before every derived trace, in each root of the trace."""
    machine, place = expansion.contract.machine, YamlPlace(expansion.contract.source, ("given",))
    found: list[HarnessStep] = []
    for k, body in enumerate(machine.given if machine is not None else ()):
        ((action, own),) = body.items()
        for root in roots:
            if own.get("root", root) in (root, _OWN.sub("", root)):
                found.append(FileDraft(expansion, place / k, (root,), {}).step({action: {**own, "root": root}}))
    return tuple(found)


def own_roots(contract: Contract, wire: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The inputs that open the handle with this number, from 1; it has its own roots if the machine says so."""
    machine, method = contract.machine, contract.method
    if number == 1 or machine is None or not machine.own_roots or method is None or method.takes:
        return dict(wire)
    own = {name: value for name, value in wire.items() if is_root(value)}
    return {**wire, **{name: {"root": f"{value['root']}-{number}"} for name, value in own.items()}}


DEPTH: Final = 6  # successful calls from the opening call to a state
MOST_STATES: Final = 200
TOUR: Final = 20  # calls of a tour, a trace through pairs of operations
_PARTS: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ReachedState:
    """A reachable state, with the shortest way to it that the search found."""

    state: State | None
    path: tuple[MachineCall, ...] = ()
    edges: list[tuple[MachineCall, str]] = field(default_factory=list)  # moves that succeed, and where they lead


def derived(expansion: Expansion) -> Iterator[Question]:
    """The traces of a `derive` group; none, and a problem, if no example opens a handle."""
    makers: list[Callable[[], Question]] = []
    with expansion.noting():
        _require_known(expansion)
        makers = list(_Search(expansion).makers())
    for make in makers:
        yield from expansion.attempt(make)


def check_words(expansion: Expansion) -> None:
    """Note the problems of a `derive` group's text and of the examples of its machine."""
    with expansion.noting():
        _require_known(expansion)
        Model(expansion.contract, expansion.codebook, expansion.body["derive"].get("operations", ()))


def _require_known(expansion: Expansion) -> None:
    """Refuse a group that names an operation that the machine does not have."""
    machine = expansion.contract.machine
    assert machine is not None
    for k, name in enumerate(expansion.body["derive"].get("operations", ())):
        if machine.full_name(name) not in machine.methods:
            place = expansion.place / "derive" / "operations" / k
            hint = f"operations: {', '.join(machine.methods)}"
            hint = nearest(name, [one.rpartition(".")[2] for one in machine.methods], hint)
            raise place.problem("C014", f"unknown operation {name!r}", hint)


class _Search:
    def __init__(self, expansion: Expansion) -> None:
        self.expansion, body = expansion, expansion.body["derive"]
        self.model = Model(expansion.contract, expansion.codebook, body.get("operations", ()))
        self.depth: int = body.get("depth", DEPTH)
        self.nodes: dict[str, ReachedState] = {}
        self.first: dict[tuple[str, str], tuple[ReachedState, MachineCall]] = {}  # by operator and effect shown
        self.openings: list[tuple[MachineCall, str]] = []
        self.paths: list[tuple[MachineCall, ...]] = []  # the calls of each tour
        self.toured: set[tuple[str, str]] = set()  # operator and example of every call in them
        self.shown: list[tuple[tuple[MachineCall, ...], MachineCall]] = []
        self.explore()

    def explore(self) -> None:
        waiting: deque[str] = deque()
        outside = ReachedState(None)
        for operator in filter(self.model.opening, self.model.moves):
            for move in self.model.moves[operator]:
                reached = self.see(outside, move)
                if reached.side == SUCCEEDS and reached.after is not None:
                    key = self.arrive(outside, move, reached.after, waiting)
                    self.openings.append((move, key))
        while waiting:
            node = self.nodes[waiting.popleft()]
            for operator, moves in self.model.moves.items():
                for move in () if self.model.opening(operator) else moves:
                    reached = self.see(node, move)
                    if reached.side == SUCCEEDS and reached.after is not None and len(node.path) <= self.depth:
                        node.edges.append((move, self.arrive(node, move, reached.after, waiting)))

    def see(self, node: ReachedState, move: MachineCall) -> CallEffect:
        """The effect of a move at a node; the first move that shows an effect is stored."""
        reached = self.model.reach(move, node.state)
        if reached.side == OUTSIDE:
            return reached
        shown = [reached.side, *sorted(reached.touched)]
        if reached.side == SUCCEEDS:
            shown += [f"with {one}" for one in move.chosen if not one.endswith(" 1")]
        for what in shown:
            if what != UNSURE:
                self.first.setdefault((move.operator, what), (node, move))
        return reached

    def arrive(self, node: ReachedState, move: MachineCall, state: State, waiting: deque[str]) -> str:
        """The key of the state that a move leads to."""
        key = repr(sorted(state.items()))
        if key not in self.nodes and len(self.nodes) < MOST_STATES:
            self.nodes[key] = ReachedState(state, (*node.path, move))
            waiting.append(key)
        return key

    def makers(self) -> Iterator[Callable[[], Question]]:
        """The functions that make the traces, sorted by the names of the traces."""
        if not self.openings:
            raise self.no_opening_problem()
        yield from self.tours()
        yield from self.singles()
        yield partial(self.after, "unknown-handle", UNKNOWN_HANDLE)
        if closers := [name for name in self.model.moves if self.model.closes(name)]:
            yield partial(self.after, "closed-handle", closing=self.model.moves[closers[0]][0])
        yield partial(self.after, "handle-of-an-earlier-process", restart=True)
        yield self.two_handles

    def no_opening_problem(self) -> Unusable:
        """The problem that a search has no opening call to start from."""
        if any(map(self.model.opening, self.model.moves)):
            hint = "give every operation that opens a handle `examples` that its guards let through"
            return self.expansion.place.problem("C017", "no example opens a handle", hint)
        hint = "add one that does to `operations`, or leave `operations` out"
        return (self.expansion.place / "derive").problem(
            "C017", "none of the operations named here opens a handle", hint
        )

    # -- the traces

    def singles(self) -> Iterator[Callable[[], Question]]:
        """One trace for each effect that a call can show and no tour has shown."""
        for (operator, what), (node, move) in sorted(self.first.items(), key=lambda item: item[0]):
            method = kebab(operator.rsplit(".", 1)[-1])
            if what == SUCCEEDS or (operator, what.removeprefix("with ")) in self.toured:
                continue
            if what.startswith("with "):
                slug = f"{method}-{_PARTS.sub('-', what)}"
            elif "/" in what:
                slug = f"{method}-{what.replace('/', '-')}"
            else:
                slug = f"{method}-refused-{what}"
            if (node.path, move) in self.shown:
                continue
            self.shown.append((node.path, move))
            yield partial(self.single, slug, node, move)

    def single(self, slug: str, node: ReachedState, move: MachineCall) -> Question:
        """The trace that goes to a node, makes the call, reads what can be read, and closes the handle."""
        draft = TraceDraft(self.expansion)
        handle, state = self.follow(draft, node.path)
        reached = self.model.reach(move, state)
        name = draft.ask(move, handle)
        if self.model.opening(move.operator) and reached.side == SUCCEEDS:
            handle = {"from": f"{name}.{self.opened(move)}"}
        self.finish(draft, handle, reached.after)
        return draft.question(slug)

    def follow(self, draft: TraceDraft, path: Sequence[MachineCall], number: int = 1) -> tuple[Any, State | None]:
        """Make the calls of a path; return the handle with this number, and its state."""
        handle: Any = None
        state: State | None = None
        for move in path:
            state = self.model.reach(move, state).after
            name = draft.ask(move, handle, number)
            if self.model.opening(move.operator):
                handle = {"from": f"{name}.{self.opened(move)}"}
        return handle, state

    def opened(self, move: MachineCall) -> str:
        method = self.model.contracts[move.operator].method
        return method.opens if method is not None else ""

    def finish(self, draft: TraceDraft, handle: Any, state: State | None) -> None:
        if handle is None or state is None:
            return
        self.read(draft, handle, state)
        for operator, moves in self.model.moves.items():
            if self.model.closes(operator) and self.model.reach(moves[0], state).side == SUCCEEDS:
                draft.ask(moves[0], handle)
                return

    def read(self, draft: TraceDraft, handle: Any, state: State) -> None:
        """Make every call that changes nothing and whose guards are true in this state."""
        for operator, moves in self.model.moves.items():
            if self.model.reads(operator) and self.model.reach(moves[0], state).side == SUCCEEDS:
                draft.ask(moves[0], handle)

    def after(
        self, slug: str, unknown: str = "", closing: MachineCall | None = None, restart: bool = False
    ) -> Question:
        """The trace that calls every operation with a handle that is unknown, closed, or of an ended process."""
        draft = TraceDraft(self.expansion)
        handle, state = self.follow(draft, [self.openings[0][0]])
        if closing is not None:
            draft.ask(closing, handle)
        if restart:
            draft.steps.append(RestartStep())
        for operator, moves in self.model.moves.items():
            if not self.model.opening(operator):
                draft.ask(moves[0], unknown or handle)
        if unknown:
            self.finish(draft, handle, state)
        return draft.question(slug)

    def tours(self) -> Iterator[Callable[[], Question]]:
        """Traces where every operation follows every other one that it can follow, according to the search."""
        done: set[tuple[str, str]] = set()
        for opening, start in self.openings:
            if start not in self.nodes:
                continue
            while True:
                path = self.tour(opening, start, done)
                if len(path) < 2:
                    break
                self.paths.append(path)
                slug = f"tour-{len(self.paths)}"
                yield partial(self.toured_question, slug, path)
        for path in self.paths:
            self.toured |= {(move.operator, one) for move in path for one in move.chosen}

    def toured_question(self, slug: str, path: Sequence[MachineCall]) -> Question:
        draft = TraceDraft(self.expansion)
        self.finish(draft, *self.follow(draft, path))
        return draft.question(slug)

    def tour(self, opening: MachineCall, start: str, done: set[tuple[str, str]]) -> tuple[MachineCall, ...]:
        path, key = [opening], start
        while len(path) < TOUR:
            more = self.shortest_way(path, key, done)
            if not more:
                break
            for move, to in more:
                done.add((path[-1].operator, move.operator))
                path.append(move)
                key = to
        return tuple(path)

    def shortest_way(
        self, path: Sequence[MachineCall], key: str, done: set[tuple[str, str]]
    ) -> list[tuple[MachineCall, str]]:
        """The shortest continuation that ends with a new pair of operations; moves that were made least come first.

        So a second call of an operation uses another example: with equal values a wrong order would not show.
        """
        last, made = path[-1].operator, Counter(path)
        waiting: deque[tuple[str, str, list[tuple[MachineCall, str]]]] = deque([(last, key, [])])
        seen = {(last, key)}
        while waiting:
            operator, at, way = waiting.popleft()
            edges = self.nodes[at].edges if at in self.nodes else []
            for move, to in sorted(edges, key=lambda edge: made[edge[0]]):
                if to not in self.nodes:
                    continue
                further = [*way, (move, to)]
                if (operator, move.operator) not in done:
                    return further
                if (move.operator, to) not in seen and len(further) < self.depth:
                    seen.add((move.operator, to))
                    waiting.append((move.operator, to, further))
        return []

    def two_handles(self) -> Question:
        """One tour on two handles by turns: a change of one must not show through the other."""
        draft = TraceDraft(self.expansion)
        path = self.paths[0][1:] if self.paths else ()
        moves = [self.openings[0][0], self.openings[-1][0]]
        handles, states = [], []
        for number, move in enumerate(moves, start=1):
            handle, state = self.follow(draft, [move], number)
            handles.append(handle)
            states.append(state)
        for k, move in enumerate(path[: TOUR // 2]):
            # The second handle lags behind, so that the two are never in the same state for long.
            for n, turn in ((0, move), (1, path[k - 1] if k else None)):
                if turn is not None and not self.model.closes(turn.operator):
                    reached = self.model.reach(turn, states[n])
                    draft.ask(turn, handles[n])
                    states[n] = reached.after if reached.side == SUCCEEDS else states[n]
        self.read(draft, handles[0], states[0] or {})
        self.finish(draft, handles[1], states[1])
        self.finish(draft, handles[0], states[0])
        return draft.question("two-handles")
