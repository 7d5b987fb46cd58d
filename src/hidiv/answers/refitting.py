"""Smaller models fitted to a model: expectation-maximisation on a long draw of it, the same for every candidate."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hidiv.errors import HidivError, ImpossibleEvidence
from hidiv.fitting.draft import Draft, draft_of
from hidiv.fitting.em import Options, Run, begin, climb
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.fitting.expected_counts import Problem, expectation, problem_of
from hidiv.fitting.restarts import neighbour
from hidiv.inference.decoding import viterbi
from hidiv.inference.sampling import sample
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array, IntArray

CHAINS = 8  # that a long chain is drawn as, so that threads share the work
ROOTS = 2000  # short chains from which a first law is fitted
FIRST = 12  # their length
ENOUGH_ROOTS = 200  # trees from which the law of the root is fitted with all else
SHORT = 12  # iterations after which starts are ranked
CLIMBED = 3  # starts climbed to their maxima
HOPS, ROUNDS = 5, 4  # starts near the best maximum, and how often they are tried while they help
SETTLED = 1e-7  # log-likelihood per node that further iterations would gain, below which a climb ends
LONGEST = 300  # iterations of a climb
FORGOTTEN = 20  # the part of a chain, one in so many, that is left out of a loss
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
        cls, model: Model, tree: Tree | UntilEnd | None, nodes: int, rng: np.random.Generator, chains: int = CHAINS
    ) -> Draw:
        """About so many nodes: a few long chains, as many trees, or chains until they end."""
        starts = None
        if tree is None:
            long_run = model.stationary()
            begun = Model(long_run, model.transition, model.emission)
            states, x = sample(begun, max(nodes // chains, 2), chains, rng)
            if np.abs(long_run - model.initial).max() > 1e-9:
                starts = forest_of(list(sample(model, FIRST, ROOTS, rng)[1]), None, None, None)
        else:
            size = 1 if isinstance(tree, UntilEnd) else tree.n_nodes
            states, x = sample(model, tree, max(nodes // size, 2) if size > 1 else _ending(model, nodes, rng), rng)
        where = tree if isinstance(tree, Tree) else None
        group = None if where is None or model.n_groups == 1 else where.group
        grouped = None if group is None else [group] * len(x)
        return cls(model, tree, list(states), list(x), forest_of(list(x), where, None, grouped), starts)

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
            part = slice(None) if where is not None else slice(DECODED // CHAINS)
            try:
                theirs = viterbi(model if where is not None else replace_end(model), x[part], where)[0]
            except HidivError:  # a draw that the smaller model cannot show
                continue
            np.add.at(table, (states[part], theirs), 1.0)
            seen += len(theirs)
            if seen >= DECODED:
                break
        return np.asarray(table.argmax(axis=1))


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
        found = _climbed(near, problem, options, 1)
        if found.log_likelihood <= best.log_likelihood + options.tol:
            break
        best = found
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
