"""`agreement`: do the restarts or refits of a model agree, in what they show and in their states?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from hidiv.answers.matching import SURE, Matching, listed_models, match
from hidiv.arguments import Seed, generator, number, whole
from hidiv.divergences.pair import check_length, check_observations
from hidiv.divergences.quantities import header
from hidiv.divergences.result import plain
from hidiv.divergences.saved_checks import read_saved
from hidiv.errors import HidivError, ImpossibleEvidence, IncompatibleModels, counted, refuse
from hidiv.inference.likelihood import log_likelihood
from hidiv.inference.sampling import sample
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UNTIL_END
from hidiv.progress import Progress, Wanted, reported
from hidiv.types import Array
from hidiv.values import Value

WITHIN = 0.01  # nats a step
NODES = 16_000  # drawn from each model
FARTHEST = 1e300  # in place of an infinite divergence
PARTS = 8  # at least, from whose spread the standard error comes


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Value):
    """Whether several models agree, as `hd.agreement` returns it; true where they do.

    Parameters
    ----------
    divergences : ndarray of shape (M, M)
        Estimates of the observed divergences, rows from columns, in nats per node; inf where the column cannot show
        what the row drew.
    std_errors : ndarray of shape (M, M)
        Their standard errors.
    groups : tuple of tuple of int
        The models that show the same, no two of a group further apart than `within`; the largest group first.
    matching : Matching
        The states brought to one labelling.
    within : float
        The divergence below which two models count as the same.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0]))
    >>> bool(hd.agreement([p, p.relabel([1, 0])], seed=1))
    True
    """

    divergences: Array
    std_errors: Array
    groups: tuple[tuple[int, ...], ...]
    matching: Matching
    within: float

    @property
    def equal(self) -> bool:
        """Whether all models show the same within `within`."""
        return len(self.groups) == 1

    @property
    def verdict(self) -> str:
        """ "agree", "agree except for states" (whose matches are in doubt), or "disagree"."""
        if not self.equal:
            return "disagree"
        return "agree" if self.matching.weakest >= SURE and not any(self.matching.unmatched) else AGREE_BUT

    def __bool__(self) -> bool:
        return self.equal

    def summary(self) -> str:
        """The answer in one sentence."""
        n = len(self.divergences)
        unit = "nats a node" if self.matching.reference.end is not None else "nats a step"
        if self.equal:
            top = float(self.divergences.max()) if n > 1 else 0.0
            begin = f"{counted(n, 'model')} agree: no two are further apart than {max(top, 0.0):.2g} {unit}"
            if self.verdict == "agree":
                return f"{begin}, and every state has its partner (certainty at least {self.matching.weakest:.2f})"
            return f"{begin}, but not on all states: {self.matching.summary().split(': ', 1)[1]}"
        sizes = ", ".join(str(len(group)) for group in self.groups)
        least = self._least_between()
        apart = "infinitely far apart" if isinf(least) else f"at least {least:.2g} {unit} apart"
        groups = f"{len(self.groups)} groups of {sizes}, {apart} (the same within {self.within:g})"
        return f"{counted(n, 'model')} disagree: {groups}"

    def _least_between(self) -> float:
        """The least divergence, of the larger directions, between two models of different groups."""
        table = np.maximum(self.divergences, self.divergences.T)
        label = np.zeros(len(table), dtype=np.int64)
        for g, group in enumerate(self.groups):
            label[list(group)] = g
        return float(table[label[:, None] != label[None, :]].min())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        return header("agreement") | {
            "verdict": self.verdict, "divergences": plain(self.divergences), "std_errors": plain(self.std_errors),
            "groups": [list(group) for group in self.groups], "within": self.within,
            "matching": self.matching.to_dict(),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Agreement:
        """The result of a description as `to_dict` writes it."""

        def build() -> Agreement:
            tables = [np.array(described[key], dtype=np.float64) for key in ("divergences", "std_errors")]
            for table in tables:
                table.flags.writeable = False
            return cls(
                tables[0], tables[1], tuple(tuple(map(int, group)) for group in described["groups"]),
                Matching.from_dict(described["matching"]), float(described["within"]),
            )  # fmt: skip

        keys = ("verdict", "divergences", "std_errors", "groups", "within", "matching")
        return read_saved(described, "hidiv.agreement", keys, build)

    def __repr__(self) -> str:
        return self.summary()


AGREE_BUT = "agree except for states"


@reported
def agreement(
    models: Any,
    *,
    within: float = WITHIN,
    tree: Tree | int | None = None,
    nodes: int = NODES,
    seed: Seed = None,
    progress: Wanted = None,  # for @reported
) -> Agreement:
    """Decide whether several fits of a model agree, in what they show and in their states.

    Parameters
    ----------
    models : sequence or dict of Model, Collection, FitResult, or of fitted models of supported libraries
        At least two models; a FitResult stands for its restarts.
    within : float, default 0.01
        Two models count as the same where both observed divergences are at most this, in nats per node.
    tree : Tree or int, optional
        The tree on which models are compared. By default long chains; with `end`, chains of random length.
    nodes : int, default 16000
        How many nodes to draw from each model; all models weigh the same draws.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same numbers again.
    progress : bool or callable, optional
        None shows a line on a terminal after a second, True always, False never; a function is called with (done,
        total).

    Returns
    -------
    Agreement
        The observed divergences, the groups of models that show the same, the states matched, and a verdict.

    Raises
    ------
    HidivError
        Where there are fewer than two models.
    IncompatibleModels
        Where models show different kinds of observations.

    See Also
    --------
    match : the states alone.
    equivalent : whether two models are exactly the same process.

    Notes
    -----
    The divergences are plain Monte Carlo estimates of definitions (5.1), per node.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 9.0], std=[1.0, 1.0]))
    >>> q = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Gaussian([0.0, 9.0], std=[1.0, 1.0]))
    >>> hd.agreement([p, q, p.relabel([1, 0])], seed=1).groups
    ((0, 2), (1,))
    """
    several = listed_models(models)
    if len(several) < 2:
        refuse(HidivError, "models", "needs at least two models to compare", len(several))
    for other in several[1:]:
        check_observations(several[0], other)
        check_length(several[0], other, until_end=several[0].end is not None)
    limit, rng, size = number("within", within), generator(seed), whole("nodes", nodes, 100)
    matching = match(several, tree=tree)
    with Progress("comparing") as shown:
        table, errors = np.zeros((2, len(several), len(several)))
        for i, model in enumerate(several):
            shown.show(i / len(several), model.name or f"model {i}")
            table[i], errors[i] = _row(model, several, i, tree, size, rng)
        shown.show(1.0)
    for each in (table, errors):
        each.flags.writeable = False
    return Agreement(table, errors, _groups(np.maximum(table, table.T), limit), matching, limit)


def _row(
    model: Model, others: list[Model], own: int, tree: Tree | int | None, nodes: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Divergences per node of one model from all, on draws of it that all of them weigh, and standard errors."""
    if model.end is not None:
        draws, place = list(sample(model, UNTIL_END, 200, rng)[1]), None
    elif tree is None:
        if model.n_groups > 1:
            rule, remedy = "needs a tree, because the models have groups", "give tree="
            refuse(IncompatibleModels, "agreement", rule, f"{model.n_groups} groups", remedy)
        draws, place = list(sample(model, nodes // PARTS, PARTS, rng)[1]), None
    else:
        place = as_tree(tree)
        draws = list(sample(model, place, max(PARTS, nodes // place.n_nodes), rng)[1])
    logs = np.array([[_log_likelihood(other, x, place) for x in draws] for other in others])
    lengths = np.array([len(x) for x in draws], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        ratios = (logs[own] - logs) / lengths.mean()
        values = np.maximum(ratios.mean(axis=1), 0.0)
        errors = np.where(np.isfinite(values), ratios.std(axis=1, ddof=1) / np.sqrt(len(draws)), np.inf)
    values[own] = errors[own] = 0.0
    return values, errors


def _log_likelihood(model: Model, x: Any, tree: Tree | None) -> float:
    """The log-likelihood, -inf where the model cannot show x."""
    try:
        return log_likelihood(model, x, tree)
    except ImpossibleEvidence:
        return -np.inf


def _groups(apart: Array, within: float) -> tuple[tuple[int, ...], ...]:
    """Models of which no two in a group are further apart than `within`, the largest group first."""
    upper = np.minimum(apart[np.triu_indices(len(apart), 1)], FARTHEST)
    label = fcluster(linkage(upper, "complete"), within, "distance")
    groups = [tuple(np.flatnonzero(label == each).tolist()) for each in np.unique(label)]
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))
