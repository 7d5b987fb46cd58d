"""How many states, which family? Model choice by an information criterion or by evidence held out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.arguments import generator, whole
from hidiv.errors import HidivError, counted, refuse
from hidiv.fitting.draft import draft_of
from hidiv.fitting.expectation import expectation, problem_of
from hidiv.fitting.fit import fit
from hidiv.fitting.forest import Forest, forest_of
from hidiv.fitting.result import FitResult
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.types import IntArray


@dataclass(frozen=True)
class Candidate:
    """One form of model: its fit to all of the evidence, and its score, larger is better."""

    n_states: int
    emission: str
    fit: FitResult
    score: float


@dataclass(frozen=True, repr=False)
class Choice:
    """All candidates, best first by their score: minus the BIC (or AIC), or the log-likelihood of held-out evidence."""

    candidates: tuple[Candidate, ...]
    by: str

    @property
    def best(self) -> FitResult:
        """The fit of the best candidate."""
        return self.candidates[0].fit

    @property
    def n_states(self) -> int:
        """The number of states chosen."""
        return self.candidates[0].n_states

    def __repr__(self) -> str:
        lines = [f"chosen by {self.by}:"]
        for each in self.candidates:
            shown = -each.score if self.by != "held-out" else each.score
            lines.append(
                f"  {counted(each.n_states, 'state')}, {each.emission}: {self.by} {shown:.6g}, "
                f"log-likelihood {each.fit.log_likelihood:.6g}, {counted(each.fit.n_parameters, 'parameter')}"
            )
        return "\n".join(lines)


def choose(
    evidence: Any,
    tree: Any = None,
    n_states: Iterable[int] = (1, 2, 3, 4),
    emission: Any = "gaussian",
    *,
    by: str = "bic",
    folds: int = 5,
    lengths: ArrayLike | None = None,
    group: Any = None,
    seed: int | None = None,
    **settings: Any,
) -> Choice:
    """Fit every number of states (and every emission of a mapping from names to emissions) and rank them.

    by "bic" or "aic": the criterion on all of the evidence. by "held-out": the log-likelihood of evidence that was left
    out, summed over `folds` parts: whole trees where there are that many, else single nodes, scored given the others.
    Other settings are those of `fit`. Ctrl-C ranks the candidates that were done by then.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0]))
    >>> _, x = hd.sample(p, 12, size=10, seed=1)
    >>> hd.choose(list(x), None, (1, 2), "poisson", n_init=1, seed=0).n_states
    2
    """
    if by not in ("bic", "aic", "held-out"):
        refuse(HidivError, "by", "must be bic, aic or held-out", by)
    counts = list(n_states) if isinstance(n_states, Iterable) else [n_states]
    if not counts:
        refuse(HidivError, "n_states", "must name at least one number of states", counts)
    forest = forest_of(evidence, tree, lengths, group)
    kinds = dict(emission) if isinstance(emission, Mapping) else {_title(emission): emission}
    found: list[Candidate] = []
    for title, kind in kinds.items():
        for k in counts:
            try:
                fitted = _fitted(forest, k, kind, seed, settings)
                if by == "held-out":
                    score = _held_out(forest, k, kind, folds, seed, settings)
                else:
                    score = -(fitted.bic if by == "bic" else fitted.aic)
            except KeyboardInterrupt:
                if not found:
                    raise
                return _ranked(found, by)
            found.append(Candidate(k, title, fitted, score))
    return _ranked(found, by)


def _ranked(found: list[Candidate], by: str) -> Choice:
    return Choice(tuple(sorted(found, key=lambda each: -each.score)), by)


def _fitted(forest: Forest, k: int, kind: Any, seed: int | None, settings: dict[str, Any]) -> FitResult:
    """A fit that came to its end: one that Ctrl-C cut short compares with none."""
    found = fit(forest, None, k, kind, seed=seed, **settings)
    if any(note.startswith("interrupted") for note in found.notes):
        raise KeyboardInterrupt
    return found


def _title(emission: Any) -> str:
    return emission if isinstance(emission, str) else str(getattr(emission, "name", "emission"))


def _held_out(forest: Forest, k: int, kind: Any, folds: int, seed: int | None, settings: dict[str, Any]) -> float:
    """The log-likelihood of every part given a model fitted to the others."""
    folds = whole("folds", folds, 2)
    rng = generator(0 if seed is None else seed)
    total = 0.0
    by_tree = forest.n_trees >= folds
    place = rng.permutation(forest.n_trees if by_tree else forest.n_nodes) % folds
    for fold in range(folds):
        held = np.flatnonzero(place == fold)
        if by_tree:
            rest = forest.take(np.flatnonzero(place != fold))
            model = _fitted(rest, k, kind, seed, settings).model
            total += log_likelihood_of(model, forest.take(held))
        else:
            rest = without(forest, held)
            model = _fitted(rest, k, kind, seed, settings).model
            total += log_likelihood_of(model, forest) - log_likelihood_of(model, rest)
    return total


def log_likelihood_of(model: Model, forest: Forest) -> float:
    """The log-likelihood of all trees together, -inf when one is impossible."""
    found = expectation(draft_of(model), problem_of(forest, model))
    return float(found.log_likelihoods.sum())


def without(forest: Forest, nodes: IntArray) -> Forest:
    """The forest with nothing known of some nodes."""
    known = forest.evidence
    x = np.array(known.x, dtype=np.float64)
    x[nodes] = np.nan
    parts: list[Any] = [x]
    for table, nothing in ((known.lower, -np.inf), (known.upper, np.inf), (known.allowed, True), (known.symbols, True)):
        part = None if table is None else np.array(table)
        if part is not None:
            part[nodes] = nothing
        parts.append(part)
    gone = set(nodes.tolist())
    sets = [{u: s for u, s in each.items() if u not in gone} for each in (known.symbol_sets, known.state_sets)]
    rest = Evidence.__new__(Evidence)
    rest._set(*parts, *sets, False, known.symbol_names, known.column_names)
    return Forest(forest.start, forest.parent, forest.group, rest, forest)
