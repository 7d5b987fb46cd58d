"""Smaller models fitted to a model: expectation-maximisation on a long draw of it, the same for every candidate."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hidiv.emissions.family import Family
from hidiv.errors import HidivError, ImpossibleEvidence
from hidiv.fitting.em import Options, Run, begin, climb
from hidiv.fitting.em_steps import Draft, Problem, draft_of, expectation, problem_of
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.fitting.restarts import neighbour
from hidiv.inference.decoding import viterbi
from hidiv.inference.sampling import sample
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array, IntArray

CHAINS = 32  # that a long chain is drawn as
ROOTS = 2000  # short chains from which a first law is fitted
FIRST = 12  # their length
ENOUGH_ROOTS = 200  # trees from which the law of the root is fitted with all else
SHORT = 12  # iterations after which starts are ranked
CLIMBED = 3  # starts climbed to their maxima
HOPS, ROUNDS = 5, 4  # starts near the best maximum, and how often they are tried while they help
SETTLED = 1e-7  # log-likelihood per node that further iterations would gain, below which a climb ends
LONGEST = 300  # iterations of a climb
FORGOTTEN = 20  # the part of a chain, one in so many, that is left out of a loss
SYMBOLS = 10_000  # of an alphabet that is gone through
DECODED = 20_000  # nodes at most whose states are decoded


@dataclass(frozen=True, eq=False)
class Draw:
    """A long draw of a model, with the states it went through."""

    model: Model
    tree: Tree | UntilEnd | None
    states: list[IntArray]
    x: list[Any]
    forest: EvidenceForest
    starts: EvidenceForest | None  # short chains from the model's own first law, for endless chains

    @classmethod
    def of(
        cls, model: Model, tree: Tree | UntilEnd | None, nodes: int, rng: np.random.Generator, even: bool = True
    ) -> Draw:
        """About so many nodes: a few long chains, as many trees, or chains until they end.

        even: the chains of an endless one are drawn by `drawn_evenly`, not independently.
        """
        starts = None
        if tree is None:
            long_run = model.stationary()
            begun = Model(long_run, model.transition, model.emission)
            states, x = (drawn_evenly if even else sample)(begun, max(nodes // CHAINS, 2), CHAINS, rng)
            if np.abs(long_run - model.initial).max() > 1e-9:
                starts = forest_of(list(sample(model, FIRST, ROOTS, rng)[1]), None, None, None)
        else:
            size = 1 if isinstance(tree, UntilEnd) else tree.n_nodes
            states, x = sample(model, tree, max(nodes // size, 2) if size > 1 else _ending(model, nodes, rng), rng)
        where = tree if isinstance(tree, Tree) else None
        group = None if where is None or model.n_groups == 1 else where.group
        grouped = None if group is None else [group] * len(x)
        return cls(model, tree, list(states), list(x), forest_of(list(x), where, None, grouped), starts)

    def part(self, nodes: int) -> Draw:
        """The first of the chains or trees, of about so many nodes."""
        sizes = np.cumsum([len(states) for states in self.states])
        count = min(int(np.searchsorted(sizes, nodes)) + 1, len(sizes))
        which = np.arange(count)
        return replace(self, states=self.states[:count], x=self.x[:count], forest=self.forest.take(which))

    def visits(self) -> Array:
        """(K,): how often each state is visited."""
        if self.tree is None:
            return self.model.stationary()
        return np.bincount(np.concatenate(self.states), minlength=self.model.n_states) / sum(map(len, self.states))

    def loss(self, model: Model) -> tuple[float, float]:
        """What another model loses per step on this draw of an endless chain, and the standard error.

        The beginning of each chain is left out, where the filters still depend on the first laws.
        """
        begun = Model(self.model.stationary(), self.model.transition, self.model.emission)
        n = len(self.x[0])
        head = n // FORGOTTEN
        logs = [_log_likelihoods(each, [x[:part] for x in self.x]) for each in (begun, model) for part in (n, head)]
        with np.errstate(invalid="ignore"):
            ratios = ((logs[0] - logs[1]) - (logs[2] - logs[3])) / (n - head)
            return float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios)))

    def shared(self, model: Model) -> IntArray:
        """(K,): the state of a smaller model that each state of this one shares most nodes with."""
        table, seen = np.zeros((self.model.n_states, model.n_states)), 0
        where = self.tree if isinstance(self.tree, Tree) else None
        for states, x in zip(self.states, self.x, strict=True):
            part = slice(None) if where is not None else slice(DECODED // 8)
            try:
                theirs = viterbi(model if where is not None else replace_end(model), x[part], where)[0]
            except HidivError:  # a draw that the smaller model cannot show
                continue
            np.add.at(table, (states[part], theirs), 1.0)
            seen += len(theirs)
            if seen >= DECODED:
                break
        return np.asarray(table.argmax(axis=1))


def drawn_evenly(model: Model, length: int, count: int, rng: np.random.Generator) -> tuple[IntArray, Array]:
    """Chains (count, length) in which what is rare comes as often as it should: each state goes on to each next one as
    often as expected, up to one.

    The random numbers by which a state goes on are one from each of as many equal parts of [0, 1] as it is expected to
    be visited, in random order. Independent draws of slow chains miss rare states, or have them twice as often.
    """
    visits = np.ceil(model.initial * length * count).astype(int) + 1
    decks, used = [_deck(n, rng) for n in visits.tolist()], np.zeros(model.n_states, dtype=np.int64)
    rows = np.cumsum(model.transitions[0], axis=1)
    states = np.empty((count, length), dtype=np.int64)
    now = np.searchsorted(np.cumsum(model.initial), _deck(count, rng), side="right")
    for t in range(length):
        states[:, t] = now = np.minimum(now, model.n_states - 1)
        u = np.empty(count)
        for state in np.unique(now).tolist():
            mine = np.flatnonzero(now == state)
            if used[state] + len(mine) > len(decks[state]):
                decks[state] = np.append(decks[state][used[state] :], _deck(max(int(visits[state]), len(mine)), rng))
                used[state] = 0
            u[mine] = decks[state][used[state] : used[state] + len(mine)]
            used[state] += len(mine)
        now = (u[:, None] >= rows[now]).sum(axis=1)
    return states, _shown_evenly(model.emissions[0], states.ravel(), rng).reshape(count, length, -1)


def _shown_evenly(family: Family, states: IntArray, rng: np.random.Generator) -> Array:
    """Observations of states: each symbol of an alphabet as often as expected, up to one; other laws are drawn."""
    symbols = family.alphabet()
    if symbols is None or len(symbols) > SYMBOLS:
        return family.draw(states, rng)
    x, rows = np.empty((len(states), symbols.shape[1])), np.cumsum(family.symbol_table(), axis=1)
    for state in np.unique(states).tolist():
        mine = np.flatnonzero(states == state)
        shown = np.searchsorted(rows[state], _deck(len(mine), rng), side="right")
        x[mine] = symbols[np.minimum(shown, len(symbols) - 1)]
    return x


def _deck(n: int, rng: np.random.Generator) -> Array:
    """(n,): numbers in [0, 1], one from each of n equal parts, in random order."""
    return np.asarray((rng.permutation(n) + rng.random(n)) / n)


def _log_likelihoods(model: Model, x: list[Any]) -> Array:
    """The log-likelihood of each of several chains."""
    forest = forest_of(x, None, None, None)
    return expectation(draft_of(model), problem_of(forest, model)).log_likelihoods


def replace_end(model: Model) -> Model:
    """The model as one whose chains go on: decoding a beginning says nothing of its end."""
    if model.end is None:
        return model
    rows = model.transitions[0] / np.maximum(model.transitions[0].sum(axis=1, keepdims=True), 1e-300)
    rows[model.transitions[0].sum(axis=1) == 0] = 1.0 / model.n_states
    return Model(model.initial, rows, model.emission, symbol_names=model.symbol_names, column_names=model.column_names)


def _ending(model: Model, nodes: int, rng: np.random.Generator) -> int:
    """How many chains of random length have about so many nodes together."""
    lengths = [len(states) for states in sample(model, UntilEnd(), 50, rng)[0]]
    return int(np.clip(nodes / np.mean(lengths), 50, nodes))


def best_refit(starts: list[Model], draw: Draw, rng: np.random.Generator) -> Model:
    """The best model that a climb from one of the starts, or from near the best maximum, reaches.

    Starts are ranked after a few iterations, and the best of them climbed to their maxima.
    """
    options = _options(draw)
    problem, shape = problem_of(draw.forest, starts[0]), starts[0]
    best = _climbed([draft_of(start) for start in starts], problem, options, CLIMBED)
    for _ in range(ROUNDS if shape.n_states > 1 else 0):
        near = [neighbour(best, problem, options, rng) for _ in range(HOPS)]
        climbed = _climbed(near, problem, options, 1)
        if climbed.log_likelihood <= best.log_likelihood + options.tol:
            break
        best = climbed
    return best.model.finished(shape)


def finished_on(model: Model, draw: Draw) -> Model:
    """The model climbed on to its maximum on another, longer draw, with its first law."""
    options = _options(draw)
    problem = problem_of(draw.forest, model)
    try:
        run = climb(begin(draft_of(model), problem, options), problem, options, polish=True)
    except ImpossibleEvidence:  # something rare that the first draw lacked
        return model
    if run.interrupted:
        raise KeyboardInterrupt
    better = run.model.finished(model)
    return better if "initial" not in options.fixed else _with_first_law(better, draw)


def _options(draw: Draw) -> Options:
    """How long to climb; the law of the root is held where a draw has few of them."""
    many_roots = draw.tree is not None and draw.forest.n_trees >= ENOUGH_ROOTS
    fixed = frozenset() if many_roots else frozenset({"initial"})
    return Options(SETTLED * draw.forest.n_nodes, LONGEST, fixed=fixed)


def _climbed(starts: list[Draft], problem: Problem, options: Options, count: int) -> Run:
    """The best of `count` climbs, from the starts that lead after a few iterations."""
    short = replace(options, tol=0.0, max_iter=SHORT)
    runs = []
    for start in starts:
        with suppress(ImpossibleEvidence):
            runs.append(climb(begin(start, problem, options), problem, short))
    if not runs:
        begin(starts[0], problem, options)  # raises with the reason
    runs.sort(key=lambda run: -run.log_likelihood)
    for run in runs[:count]:
        climb(run, problem, options, polish=True)
    if any(run.interrupted for run in runs):
        raise KeyboardInterrupt  # a climb ends where it is; here it was to go on with others
    return max(runs, key=lambda run: run.log_likelihood)


def _with_first_law(model: Model, draw: Draw) -> Model:
    """The model with the law of its first state: the long run's, or fitted to many beginnings."""
    if draw.tree is not None:
        return model
    if draw.starts is None:
        return Model(
            model.stationary(), model.transition, model.emission, name=model.name, state_names=model.state_names,
            symbol_names=model.symbol_names, column_names=model.column_names,
        )  # fmt: skip
    problem = problem_of(draw.starts, model)
    options = Options(fixed=frozenset({"transition", "emission"}))
    return climb(begin(draft_of(model), problem, options), problem, options).model.finished(model)
