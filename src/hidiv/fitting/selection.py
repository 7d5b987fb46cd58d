"""`choose`: the number of states and the family, by an information criterion or by held-out evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.arguments import generator, whole
from hidiv.divergences.observed.rate import observed_kl_rate
from hidiv.divergences.quantities import header
from hidiv.divergences.result import Divergence, number, plain
from hidiv.divergences.saved_checks import read_saved
from hidiv.errors import HidivError, counted, refuse
from hidiv.fitting.em_steps import draft_of, expectation, problem_of
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.fitting.fit import fit
from hidiv.fitting.fit_result import FitResult
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.progress import Progress, Wanted, reported, reporting
from hidiv.types import IntArray


@dataclass(frozen=True)
class Candidate:
    """One form of model: its fit to all of the evidence, and its score; larger scores are better."""

    n_states: int
    emission: str
    fit: FitResult
    score: float


@dataclass(frozen=True, repr=False)
class Choice:
    """Candidates for a model, ranked; returned by `hd.choose`.

    Attributes
    ----------
    candidates : tuple of Candidate
        Each with its `n_states`, `emission` (a name), `fit` (a FitResult) and `score`; the best first. The score is
        minus the BIC or AIC, or the log-likelihood of held-out evidence.
    by : str
        The criterion: "bic", "aic" or "held-out".
    best : FitResult
        The fit of the best candidate.
    n_states : int
        The number of states of the best candidate.
    losses : dict of int to Divergence
        The observed divergence of the largest fit from each with fewer states, a step; computed when first asked for.

    Examples
    --------
    >>> import hidiv as hd
    >>> choice = hd.choose([0, 1, 0, 2, 1, 9, 8, 7, 9, 9], None, (1, 2), "poisson", n_init=1, seed=0)
    >>> choice.best.model.headline
    'Model: 2 states, poisson emission'
    >>> choice.enough(gain=0.01)
    2
    """

    candidates: tuple[Candidate, ...]
    by: str

    @property
    def best(self) -> FitResult:
        """The fit of the best candidate."""
        return self.candidates[0].fit

    @property
    def n_states(self) -> int:
        """The number of states of the best candidate."""
        return self.candidates[0].n_states

    @cached_property
    def losses(self) -> dict[int, Divergence]:
        """The observed divergence of the largest fit from each with fewer states of the same family, per observation.

        A rate for chains. Where there is none (groups, ends), the difference of the log-likelihoods per observation.
        """
        largest = max(self.candidates, key=lambda each: (each.n_states, each.score))
        alike = {each.n_states: each.fit for each in self.candidates if each.emission == largest.emission}
        return {k: _loss(largest.fit, alike[k]) for k in sorted(alike)}

    def enough(self, gain: float = 0.002) -> int:
        """The smallest number of states beyond which all further ones together gain less than `gain` nats a step."""
        return min(k for k, lost in self.losses.items() if lost.value < gain or k == max(self.losses))

    def summary(self, gain: float = 0.002) -> str:
        """The choice, and what further states gain, in two sentences."""
        k, most = self.enough(gain), max(self.losses)
        chosen = f"{counted(self.n_states, 'state')} chosen by {self.by}"
        if k == most:
            return f"{chosen}; every number of states up to {most} still gains at least {gain:g} nats a step"
        return (
            f"{chosen}; beyond {counted(k, 'state')} the observed divergence gained is below {gain:g} nats a step "
            f"({self.losses[k].value:.2g} up to {counted(most, 'state')})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; the candidates with their fits, the best first."""
        return header("choice") | {
            "by": self.by,
            "candidates": [
                {"n_states": each.n_states, "emission": each.emission, "score": plain(each.score),
                 "fit": each.fit.to_dict()}
                for each in self.candidates
            ],
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Choice:
        """The choice of a description as `to_dict` writes it."""

        def build() -> Choice:
            candidates = (
                Candidate(
                    int(each["n_states"]),
                    str(each["emission"]),
                    FitResult.from_dict(each["fit"]),
                    number(each["score"]),
                )
                for each in described["candidates"]
            )
            return cls(tuple(candidates), str(described["by"]))

        return read_saved(described, "hidiv.choice", ("by", "candidates"), build)

    def __repr__(self) -> str:
        lines = [f"chosen by {self.by}:"]
        for each in self.candidates:
            shown = -each.score if self.by != "held-out" else each.score
            lines.append(
                f"  {counted(each.n_states, 'state')}, {each.emission}: {self.by} {shown:.6g}, "
                f"log-likelihood {each.fit.log_likelihood:.6g}, {counted(each.fit.n_parameters, 'parameter')}"
            )
        return "\n".join(lines)


def _loss(largest: FitResult, smaller: FitResult) -> Divergence:
    """What a smaller fit loses of the largest one, per observation."""
    if smaller is largest:
        return Divergence(0.0, "observed", "exact", lower=0.0, upper=0.0, per="step")
    p, q = largest.model, smaller.model
    if p.n_groups == q.n_groups == 1 and p.end is None:
        return observed_kl_rate(p, q, rtol=0.02, atol=1e-5, width=1e-5, max_seconds=2.0, seed=0)
    value = (largest.log_likelihood - smaller.log_likelihood) / max(largest.n_observations, 1)
    note = "the difference of the log-likelihoods of the data they were fitted to"
    return Divergence(max(value, 0.0), "observed", "approximation", per="step", notes=[note])


@reported
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
    progress: Wanted = None,  # for @reported
    **settings: Any,
) -> Choice:
    """Fit several numbers of states, or several emission families, and rank the fits.

    Parameters
    ----------
    evidence : Evidence, array-like, DataFrame, list of text, or a list of these
        The data, as in `hd.fit`.
    tree : Tree, int or list of these, optional
        The trees, as in `hd.fit`. By default chains.
    n_states : iterable of int, default (1, 2, 3, 4)
        The numbers of states to try.
    emission : str, family class, family, or mapping from names to these, default "gaussian"
        The family to fit; every entry of a mapping is tried with every number of states.
    by : {"bic", "aic", "held-out"}, default "bic"
        "bic" and "aic" are criteria on all of the evidence. "held-out" is the log-likelihood of evidence that was left
        out, summed over `folds` parts: whole trees where there are that many, else single nodes, given the others.
    folds : int, default 5
        The number of parts for "held-out", at least 2.
    lengths : array-like of int, optional
        Cuts stacked evidence into chains of these lengths.
    group : {"level", "none"}, array-like of int, or list of these, optional
        Which nodes share parameters, as in `hd.fit`.
    seed : int, optional
        The same seed gives the same fits again.
    progress : bool or callable, optional
        None shows a line on a terminal after a second, True always, False never; a function is called with (done,
        total).
    **settings
        All other keyword arguments of `hd.fit`.

    Returns
    -------
    Choice
        All candidates, the best first.

    Raises
    ------
    HidivError
        Where arguments are out of range or do not fit each other.
    ImpossibleEvidence
        Where no start gives the evidence a positive probability.

    See Also
    --------
    fit : fits one model.

    Notes
    -----
    Ctrl-C returns the candidates that were finished by then.

    Examples
    --------
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
    forms = [(title, kind, k) for title, kind in kinds.items() for k in counts]
    fits_each = 1 + (whole("folds", folds, 2) if by == "held-out" else 0)
    candidates: list[Candidate] = []
    with Progress("choosing") as shown:
        for title, kind, k in forms:
            fits = _Fits(kind, k, seed, settings, shown, fits_each * len(candidates), fits_each * len(forms), title)
            try:
                fitted = fits.of(forest)
                if by == "held-out":
                    score = _held_out(forest, fits, folds)
                else:
                    score = -(fitted.bic if by == "bic" else fitted.aic)
            except KeyboardInterrupt:
                if not candidates:
                    raise
                break
            candidates.append(Candidate(k, title, fitted, score))
    return Choice(tuple(sorted(candidates, key=lambda candidate: -candidate.score)), by)


@dataclass
class _Fits:
    """Fits of one candidate, one after the other, and where they stand among those of all candidates."""

    emission: Any
    n_states: int
    seed: int | None
    settings: dict[str, Any]
    progress: Progress
    done: int
    total: int
    title: str

    def of(self, forest: EvidenceForest) -> FitResult:
        """A fit that came to its end; one that Ctrl-C cut short cannot be compared with others."""

        def show(part: float, of: float) -> None:
            words = f"{counted(self.n_states, 'state')}, {self.title}"
            self.progress.show((self.done + part / of) / self.total, words)

        with reporting(show):
            result = fit(forest, None, self.n_states, self.emission, seed=self.seed, **self.settings)
        if any(note.startswith("interrupted") for note in result.notes):
            raise KeyboardInterrupt
        self.done += 1
        return result


def _title(emission: Any) -> str:
    """The name of an emission, for messages and tables."""
    return emission if isinstance(emission, str) else str(getattr(emission, "name", "emission"))


def _held_out(forest: EvidenceForest, fits: _Fits, folds: int) -> float:
    """The log-likelihood of every part under a model fitted to the others, summed over the parts."""
    rng = generator(0 if fits.seed is None else fits.seed)
    total = 0.0
    by_tree = forest.n_trees >= folds
    fold_of = rng.permutation(forest.n_trees if by_tree else forest.n_nodes) % folds
    for fold in range(folds):
        held = np.flatnonzero(fold_of == fold)
        if by_tree:
            model = fits.of(forest.take(np.flatnonzero(fold_of != fold))).model
            total += log_likelihood_of(model, forest.take(held))
        else:
            rest = without(forest, held)
            model = fits.of(rest).model
            total += log_likelihood_of(model, forest) - log_likelihood_of(model, rest)
    return total


def log_likelihood_of(model: Model, forest: EvidenceForest) -> float:
    """The log-likelihood of all trees together, -inf where the model cannot produce one of them."""
    counts = expectation(draft_of(model), problem_of(forest, model))
    return float(counts.log_likelihoods.sum())


def without(forest: EvidenceForest, nodes: IntArray) -> EvidenceForest:
    """The forest without the evidence of some nodes."""
    evidence = forest.evidence
    x = np.array(evidence.x, dtype=np.float64)
    x[nodes] = np.nan
    parts: list[Any] = [x]
    tables = (evidence.lower, evidence.upper, evidence.allowed, evidence.symbols)
    for table, nothing in zip(tables, (-np.inf, np.inf, True, True), strict=True):
        part = None if table is None else np.array(table)
        if part is not None:
            part[nodes] = nothing
        parts.append(part)
    removed = set(nodes.tolist())
    sets = [{u: s for u, s in each.items() if u not in removed} for each in (evidence.symbol_sets, evidence.state_sets)]
    rest = Evidence.__new__(Evidence)
    rest._set(*parts, *sets, False, evidence.symbol_names, evidence.column_names)
    return EvidenceForest(forest.start, forest.parent, forest.group, rest, forest)
