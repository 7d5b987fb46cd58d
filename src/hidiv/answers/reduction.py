"""`reduce`: how few states are enough, what is lost with fewer, and the smaller models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.answers.merging import Blocks, blended, merge_path, merged_model
from hidiv.answers.refitting import CHAINS, Draw, best_refit, finished_on
from hidiv.arguments import Seed, generator, number, whole
from hidiv.divergences.equivalence.minimal import minimal
from hidiv.divergences.observed.kl import observed_kl
from hidiv.divergences.observed.rate import observed_kl_rate
from hidiv.divergences.quantities import header
from hidiv.divergences.result import Divergence
from hidiv.divergences.saved_checks import read_saved
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UNTIL_END, UntilEnd
from hidiv.progress import Progress, Wanted, reported, reporting
from hidiv.values import Value

NODES = 200_000
SHORTER, SEARCHED = 4, 100_000  # models are looked for on a part so many times shorter, but of at least so many nodes
RARE = 1e-6  # share of merged laws in a fitted one, so that nothing rare becomes impossible
NOISE = 0.5  # of the logarithm of a cost, in the other paths of merges
OTHERS = 4  # other paths
RTOL, ATOL = 2e-2, 1e-9  # of a divergence on the curve
SECONDS = 1.0  # for one of them
Z95 = 2.04  # two-sided 95 % of Student's law with CHAINS - 1 degrees of freedom


@dataclass(frozen=True, eq=False, repr=False)
class Reduction(Value):
    """Smaller models of a model and what each of them loses, as `hd.reduce` returns it.

    Parameters
    ----------
    models : dict of int to Model
        The smaller models by their number of states.
    divergences : dict of int to Divergence
        The observed divergence of the model from each of them, a step (a node on a tree, a sequence with `end`).
    chosen : int
        The number of states chosen: the smallest within `within`, else the smallest asked for that loses nothing.
    merged : dict of int to tuple of tuple of int
        For each number of states, the old states that each new state took over, by the share of time they agree.
    n_states : int
        The number of states of the model itself.
    within : float or None, default None
        The loss that was allowed.
    state_names : tuple of str or None, default None
        The names of the old states.
    notes : tuple of str, default ()
        What else there is to say.

    Examples
    --------
    >>> import hidiv as hd
    >>> twice = hd.Model([0.4, 0.6], [[0.5, 0.5], [0.3, 0.7]], hd.Poisson([2.0, 2.0]))
    >>> hd.reduce(twice)
    1 of 2 states lose nothing; states 0 and 1 became one
    """

    models: dict[int, Model]
    divergences: dict[int, Divergence]
    chosen: int
    merged: dict[int, Blocks]
    n_states: int
    within: float | None = None
    state_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> Model:
        """The model chosen."""
        return self.models[self.chosen]

    def summary(self) -> str:
        """The answer in one sentence."""
        k, lost = self.chosen, self.divergences[self.chosen]
        unit = f"{lost.unit} a {lost.per or 'sequence'}"
        joined = [block for block in self.merged[k] if len(block) > 1]
        became = "; " + ", ".join(f"states {self._listed(block)} became one" for block in joined) if joined else ""
        loss = f"{lost.value:.4g} {unit} ({lost.status}{_interval(lost)})"
        of = f"{k} of {counted(self.n_states, 'state')}"
        if self.within is not None and lost.value > self.within:
            return f"no model that was tried is within {self.within:g} {unit}: {of} lose {loss}{became}"
        if k == self.n_states and self.within:
            return f"all {counted(k, 'state')} are needed within {self.within:g} {unit}"
        if k == self.n_states:
            return f"no two of {counted(k, 'state')} can be merged without loss"
        if self.within:
            return f"{of} are enough within {self.within:g} {unit}: they lose {loss}{became}"
        return f"{of} lose {'nothing' if lost.value == 0.0 else loss}{became}"

    def _listed(self, states: tuple[int, ...]) -> str:
        names = [str(s) if self.state_names is None else self.state_names[s] for s in states]
        return f"{', '.join(names[:-1])} and {names[-1]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; the smaller models in a list, largest first."""
        sizes = sorted(self.models, reverse=True)
        return header("reduction") | {
            "n_states": self.n_states, "chosen": self.chosen, "within": self.within,
            "models": [self.models[k].to_dict() for k in sizes],
            "divergences": [self.divergences[k].to_dict() for k in sizes],
            "merged": [[list(block) for block in self.merged[k]] for k in sizes],
            "state_names": None if self.state_names is None else list(self.state_names), "notes": list(self.notes),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Reduction:
        """The result of a description as `to_dict` writes it."""

        def build() -> Reduction:
            models = {model.n_states: model for model in map(Model.from_dict, described["models"])}
            losses = map(Divergence.from_dict, described["divergences"])
            merged = (tuple(tuple(map(int, block)) for block in each) for each in described["merged"])
            names, within = described["state_names"], described["within"]
            return cls(
                models, dict(zip(models, losses, strict=True)), int(described["chosen"]),
                dict(zip(models, merged, strict=True)), int(described["n_states"]),
                None if within is None else float(within), None if names is None else tuple(map(str, names)),
                tuple(map(str, described["notes"])),
            )  # fmt: skip

        keys = ("n_states", "chosen", "within", "models", "divergences", "merged", "state_names", "notes")
        return read_saved(described, "hidiv.reduction", keys, build)

    def __repr__(self) -> str:
        lines = [self.summary()]
        if len(self.models) > 1:
            for k in sorted(self.models, reverse=True):
                lost = self.divergences[k]
                lines.append(
                    f"  {counted(k, 'state')}: {lost.value:.6g} {lost.unit} a {lost.per or 'sequence'} "
                    f"({lost.status}{_interval(lost)})"
                )
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def _at_most(lost: Divergence) -> float:
    """A loss by which models are compared: of bounds the upper end, as the middle of wide ones says nothing."""
    return lost.upper if lost.status == "certified" and lost.upper is not None else lost.value


def _interval(lost: Divergence) -> str:
    """Bounds or a 95 % interval, in words."""
    if lost.lower is None or lost.upper is None or lost.lower == lost.upper:
        return ""
    return f", {lost.lower:.4g} to {lost.upper:.4g}"


@reported
def reduce(
    p: Any,
    n_states: int | Iterable[int] | None = None,
    within: float | None = None,
    *,
    tree: Tree | None = None,
    nodes: int = NODES,
    seed: Seed = None,
    progress: Wanted = None,  # for @reported
) -> Reduction:
    """Find the best models with fewer states, and what each of them loses.

    States that can be merged without loss are merged first. Then, for each number of states, the states whose merging
    costs least are merged, and the smaller model is fitted to a long draw of p. What is lost is the observed divergence
    of p from the smaller model.

    Parameters
    ----------
    p : Model or fitted model of a supported library
        The model.
    n_states : int or iterable of int, optional
        The numbers of states to try. By default from one less than p has down to 1, or until `within` is exceeded.
    within : float, optional
        The observed divergence a step that may be lost, in nats; the smallest model within it is chosen.
    tree : Tree, optional
        The tree on which models are compared, for example `hd.Tree.regular(2, 6)`, then the loss is per node. By
        default an endless chain; with `end`, chains of random length.
    nodes : int, default 200000
        The size of the draw that the smaller models are fitted to.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same models again.
    progress : bool or callable, optional
        None shows a line on a terminal after a second, True always, False never; a function is called with (done,
        total).

    Returns
    -------
    Reduction
        The models, their divergences, the number of states chosen, and which states became one.

    Raises
    ------
    HidivError
        Where a number of states is larger than p's, or another argument is out of range.
    IncompatibleModels
        Where p has groups and no tree is given.

    See Also
    --------
    minimal : only merges that lose nothing.
    choose : the number of states from data.

    Notes
    -----
    The loss is definitions (13.1). A smaller model is the best one found, not proven to be the best there is: its loss
    is an upper bound, up to its own interval, on the least possible one. Divergences are certified where that is quick,
    else estimates. Ctrl-C returns the models finished by then, with a note.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.3, 0.2], [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]],
    ...              hd.Categorical([[0.9, 0.1], [0.2, 0.8], [0.21, 0.79]]))
    >>> found = hd.reduce(p, within=1e-3, nodes=5000, seed=1)
    >>> found.chosen, found.merged[2]
    (2, ((0,), (1, 2)))
    """
    model = as_model(p)
    place = _place(model, tree)
    limit = None if within is None else number("within", within)
    wanted = _wanted(model, n_states)
    exact = minimal(model, on="chains" if place is None or isinstance(place, UntilEnd) else "trees")
    rng = generator(seed)
    search = _Search(model, exact.model, exact.merged, place, rng, whole("nodes", nodes, 100))
    asked = [k for k in wanted if k < exact.n_states]
    if len(asked) < len(wanted) or n_states is None:
        search.add_exact()
    with Progress("reducing") as shown, reporting(False):
        for done, k in enumerate(asked):
            shown.show(done / len(asked), counted(k, "state"))
            try:
                search.add(k)
            except KeyboardInterrupt:
                if not search.models:
                    raise
                search.notes.append(f"interrupted before models of {counted(k, 'state')}")
                break
            if limit is not None and n_states is None and search.divergences[k].value > limit:
                break
        shown.show(1.0)
    return search.result(limit)


def _place(model: Model, tree: Tree | None) -> Tree | UntilEnd | None:
    """Where models are compared."""
    if tree is not None:
        if model.end is not None:
            refuse(IncompatibleModels, "tree", "models with end probabilities choose their own length", tree)
        return as_tree(tree)
    if model.n_groups > 1:
        rule = "needs a tree, because the model has groups"
        refuse(IncompatibleModels, "reduce", rule, f"{model.n_groups} groups", "give tree=")
    return None if model.end is None else UNTIL_END


def _wanted(model: Model, n_states: int | Iterable[int] | None) -> list[int]:
    """The numbers of states to try, largest first."""
    most = model.n_states
    if n_states is None:
        return list(range(most - 1, 0, -1))
    many = list(n_states) if isinstance(n_states, Iterable) else [n_states]
    if not many:
        refuse(HidivError, "n_states", "must name at least one number of states", many)
    return sorted({whole("n_states", k, 1, most, of="states of the model") for k in many}, reverse=True)


class _Search:
    """The models found so far, and what they are found from."""

    def __init__(
        self, model: Model, exact: Model, merged: Blocks, place: Tree | UntilEnd | None, rng: np.random.Generator,
        nodes: int,
    ) -> None:  # fmt: skip
        self.model, self.exact, self.exact_blocks, self.place = model, exact, merged, place
        self.rng, self.nodes, self.seed = rng, nodes, int(rng.integers(2**31))
        self.draws: tuple[Draw, Draw] | None = None
        self.judge: Draw | None = None
        self.paths: list[dict[int, Blocks]] = []
        self.models: dict[int, Model] = {}
        self.divergences: dict[int, Divergence] = {}
        self.merged: dict[int, Blocks] = {}
        self.notes: list[str] = []

    def add_exact(self) -> None:
        """The model with states merged without loss; the model itself where there are none."""
        k = self.exact.n_states
        per = None if isinstance(self.place, UntilEnd) else "step" if self.place is None else "node"
        certificate = {"because": "the models are the same process"}
        self.models[k], self.merged[k] = self.exact, self.exact_blocks
        self.divergences[k] = Divergence(
            0.0, "observed", "exact", lower=0.0, upper=0.0, per=per, certificate=certificate
        )

    def add(self, k: int) -> None:
        """The best model with k states."""
        search, final = self._draws()
        visits = search.visits()
        if not self.paths:
            noises = [0.0] + [NOISE] * OTHERS
            self.paths = [merge_path(self.exact, visits, 1, self.rng, noise) for noise in noises]
        partitions = list(dict.fromkeys(path[k] for path in self.paths))
        starts = [merged_model(self.exact, blocks, visits, self.rng) for blocks in partitions]
        above = self.models.get(k + 1)
        if above is not None and k + 1 < self.exact.n_states:
            own = Draw.visits(replace(search, model=above)) if self.place is None else np.ones(k + 1)
            blocks = merge_path(above, own, k, self.rng)[k]
            starts.append(merged_model(above, blocks, own, self.rng))
        refit = best_refit(starts, search, self.rng)
        # Zeros would stay, and what is rare may be lacking from the draw.
        model = finished_on(blended(refit, starts[0], RARE), final)
        lost = self._lost(model)
        if lost.value == inf:
            model = blended(model, starts[0], RARE)
            lost = self._lost(model)
        # A fit follows the noise of its draw: where merging loses less than that, it is the better model.
        plain = self._lost(starts[0])
        if _at_most(plain) < _at_most(lost):
            model, lost = starts[0], plain
        sharing = search.shared(model)
        self.models[k], self.divergences[k] = model, lost
        self.merged[k] = tuple(
            tuple(sorted(s for i in np.flatnonzero(sharing == b) for s in self.exact_blocks[i])) for b in range(k)
        )

    def _draws(self) -> tuple[Draw, Draw]:
        """A draw on which models are finished, and the part of it on which they are looked for; for all sizes."""
        if self.draws is None:
            whole = Draw.of(self.exact, self.place, self.nodes, self.rng)
            self.draws = whole.part(max(self.nodes // SHORTER, SEARCHED)), whole
        return self.draws

    def _lost(self, model: Model) -> Divergence:
        """The observed divergence of the model from a smaller one, per step or node.

        On endless chains the narrower of what `observed_kl_rate` soon finds and of the mean over one long draw, which
        is the same for every number of states.
        """
        budget: dict[str, Any] = {"rtol": RTOL, "atol": ATOL, "seed": self.seed, "max_seconds": SECONDS}
        if self.place is not None:
            result = observed_kl(self.exact, model, self.place, **budget)
            return result if isinstance(self.place, UntilEnd) else _per_node(result, self.place.n_nodes)
        rate = observed_kl_rate(self.exact, model, width=ATOL, **budget)
        if rate.status != "estimate" or rate.value == inf:
            return rate
        if self.judge is None:
            self.judge = Draw.of(self.exact, None, self.nodes, self.rng, even=False)
        value, error = self.judge.loss(model)
        if not error < (rate.std_error or inf):
            return rate
        return Divergence(
            value, "observed", "estimate", lower=max(value - Z95 * error, 0.0), upper=value + Z95 * error,
            std_error=error, n_samples=CHAINS, per="step", subject=rate.subject,
            notes=[f"mean over {self.nodes} steps drawn from the larger model"],
        )  # fmt: skip

    def result(self, within: float | None) -> Reduction:
        """What was found, with the number of states chosen."""
        good = [k for k, lost in self.divergences.items() if lost.value <= (within or 0.0)]
        least = min(self.divergences, key=lambda k: (self.divergences[k].value, k))
        return Reduction(
            self.models, self.divergences, min(good) if good else least, self.merged, self.model.n_states, within,
            self.model.state_names, tuple(self.notes),
        )  # fmt: skip


def _per_node(result: Divergence, n: int) -> Divergence:
    """A divergence on a tree, per node."""
    numbers = {key: getattr(result, key) for key in ("value", "lower", "upper", "std_error", "error")}
    scaled: dict[str, Any] = {key: None if x is None else x / n for key, x in numbers.items()}
    return replace(result, per="node", **scaled)
