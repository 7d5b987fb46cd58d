"""`differ`: do groups of sequences or trees differ, by a permutation test of their scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.answers.difference import Difference, GroupPair
from hidiv.answers.grouped_data import GroupedData, grouped_data
from hidiv.answers.jobs import Executor
from hidiv.answers.permutation import WhiteScores, holm, memory, p_value, reference, statistic, ways, whitened
from hidiv.arguments import Seed, generator, whole
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.errors import HidivError, ImpossibleEvidence, InvalidModel, counted, refuse
from hidiv.fitting.divergence_interval import DivergenceInterval, interval_of, observed_slopes
from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.fitting.fit import fit, read_options, refit
from hidiv.fitting.fit_result import count_parameters
from hidiv.fitting.information import EDGE, covariance_of, forest_scores
from hidiv.fitting.selection import choose
from hidiv.fitting.shapes import PARTS, check_start, shape_of
from hidiv.fitting.simulation import redrawn
from hidiv.inference.parameter_vector import blocks_of
from hidiv.models.checks import frozen
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.progress import Progress, Wanted, reported
from hidiv.types import Array, IntArray

STATES = (1, 2, 3, 4)  # tried by BIC
LONGEST = 100  # steps of the chain that a divergence a step is taken on
DRAWN, DRAWN_NODES = 400, 200_000  # sequences drawn for the information, and their nodes, at most
CLIMB = read_options(1e-6, 500, 0.0, ())  # from the pooled model to that of a group or a pair
LOOSE = 0.2  # share of even steps in a start away from the edge
UNEVEN = 1.5  # ratio of the longest sequence to the shortest that deserves a note


@reported
def differ(
    groups: Any,
    tree: Any = None,
    *,
    n_states: int | Iterable[int] | None = None,
    emission: Any = None,
    model: Any = None,
    permutations: int = 9999,
    strata: Any = None,
    block: int | None = None,
    seed: Seed = None,
    executor: Executor = None,
    progress: Wanted = None,  # for @reported
    **settings: Any,
) -> Difference:
    """Test whether groups of sequences or trees differ, and estimate by how much.

    One model is fitted to all sequences. The score of a sequence (the gradient of its log-likelihood) says in which
    direction it would move the model; the test compares the mean scores of the groups with those of the same sequences
    dealt to the groups at random. Nothing is fitted again, and the p-value is exact whatever the model, a wrong number
    of states included, if the sequences of all groups are exchangeable under the hypothesis.

    Parameters
    ----------
    groups : dict or list of lists of sequences
        The sequences of each group: arrays, lists of numbers or of text, Evidence or DataFrames, as `hd.fit` takes
        them. The groups of a list are named a, b, ...
    tree : Tree, int, or dict or list of lists of these, optional
        One tree for all items, or one for each item of each group. By default every item is a chain of its own length.
    n_states : int or iterable of int, optional
        The number of states of the pooled model; of several the best by BIC. By default the best of 1 to 4.
    emission : str, family class, family or list of these, optional
        The family, as in `hd.fit`. By default "categorical" for text, else "gaussian".
    model : Model or object of a supported library, optional
        The model at which scores are taken, as it is, in place of a pooled fit.
    permutations : int, default 9999
        How often the sequences are dealt anew.
    strata : "length", or dict or list of labels, optional
        Sequences are dealt anew within strata only: those of similar length, or those with the same label (a batch, a
        laboratory). By default among all of them.
    block : int, optional
        Cut chains into pieces of at least this many steps, which are dealt in place of whole sequences: for few long
        ones. Pieces must be longer than the memory of the chain; a note warns where they are not.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same result again, whatever the executor.
    executor : None, "serial", "processes", concurrent.futures.Executor or Dask client, optional
        Where the sequences are dealt anew. By default in threads.
    progress : bool or callable, optional
        None shows a line on a terminal after a second, True always, False never; a function is called with (done,
        total).
    **settings
        Other keyword arguments of `hd.fit` for the pooled fit, for example n_init or pseudo_count.

    Returns
    -------
    Difference
        The p-value, every pair of groups with its p-value and divergence, and the models.

    Raises
    ------
    HidivError
        Where there is one group, a group with one sequence and no blocks, or more parameters than observations.
    InvalidEvidence
        Where groups have different columns.

    See Also
    --------
    standard_errors : the errors of one fit.
    divergence_interval : the error of a divergence between two fits.
    samples_to_tell_apart : how many observations tell two models apart.

    Notes
    -----
    The statistic is the sum over groups of n_g m_g' I^- m_g, m_g the mean score of the group and I the information of
    the pooled model: the mean outer product of the scores of sequences drawn from it in the shapes of the data. (Any I
    that does not depend on the groups makes an exact test; that of the data's own scores has less power where sequences
    are few, as it holds the difference itself.) Scores are centred within strata. For more than two groups the pairs
    follow, each at the pooled model of the two, with Holm's correction. A divergence is the observed one of the two
    groups' models, fitted from the pooled one, on a chain of up to 100 steps (or a tree of the middle size) over its
    number of nodes; what noise in the fits adds is taken off, and the interval is that of the delta method, or of a
    noncentral chi-square law near zero. How many observations tell two groups apart is the expected length of a
    sequential test with errors of 0.001 (definitions (7.1)).

    References
    ----------
    E. L. Lehmann and J. P. Romano, Testing Statistical Hypotheses, Springer, 2005, chapter 15.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 6.0]))
    >>> q = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.4, 0.6]], hd.Poisson([1.0, 8.0]))
    >>> groups = {name: list(hd.sample(model, 50, size=12, seed=1)[1]) for name, model in (("old", p), ("new", q))}
    >>> found = hd.differ(groups, n_states=2, emission="poisson", n_init=2, seed=1)
    >>> print(found.sentence())
    groups old and new differ (p = 0.0001); 0.066 nats a step [0.026, 0.13]; about 110 observations tell them apart
    """
    permutations = whole("permutations", permutations, 1)
    data = grouped_data(groups, tree, strata, block)
    rng = generator(seed)
    fitting, dealing, drawing = rng.spawn(3)
    pooled, notes = _pooled(data, n_states, emission, model, fitting, settings)
    everything = np.arange(data.forest.n_trees)
    test = _Test(data, permutations, executor, dealing, drawing, refitted=model is None)
    white, observed, drawn = test.of(everything, pooled, "permutations")
    tested = test.pairs(pooled, (observed, p_value(observed, drawn)))
    models, more = _group_models(data, pooled)
    adjusted = holm([p for _, _, _, p in tested])
    place = _typical(data.forest)
    unit = "step" if data.forest.parent is None else "node"
    pairs = []
    with Progress("divergences") as bar:
        for (one, two, value, p), holm_p in zip(tested, adjusted, strict=True):
            effect = _effect(models[one], models[two], data.of(one), data.of(two), place, drawing)
            pairs.append(GroupPair(data.names[one], data.names[two], p, holm_p, value, effect, unit))
            bar.show(len(pairs), f"{len(pairs)} of {counted(len(tested), 'pair')}", len(tested))
    return Difference(
        p_value(observed, drawn), observed, tuple(pairs), dict(zip(data.names, models, strict=True)), pooled,
        {name: int((data.labels == g).sum()) for g, name in enumerate(data.names)}, white.rank, len(drawn),
        frozen(np.quantile(drawn, np.linspace(0.0, 1.0, 201))),
        (*notes, *more, *_notes(data, pooled, white, permutations)),
    )  # fmt: skip


def _pooled(
    data: GroupedData, n_states: Any, emission: Any, model: Any, rng: np.random.Generator, settings: dict[str, Any]
) -> tuple[Model, list[str]]:
    """The model of all sequences: given, fitted, or the best by BIC; and notes on it."""
    if model is not None:
        given = as_model(model)
        check_start(given, data.forest, n_states if isinstance(n_states, int) else None)
        return given, [f"scores at {given.title} as it was given"]
    family = emission
    if family is None:
        names = data.forest.evidence.symbol_names
        family = Categorical if names is not None and any(each is not None for each in names) else Gaussian
    if isinstance(n_states, int | np.integer):
        _check_size(data.forest, int(n_states), family)
        result = fit(data.forest, None, int(n_states), family, seed=rng, **settings)
        return result.model, [f"pooled fit: {note}" for note in result.notes]
    numbers = list(STATES if n_states is None else n_states)
    if not numbers:
        refuse(HidivError, "n_states", "must name at least one number of states", numbers)
    tried = [k for k in numbers if _fits(data.forest, k, family)]
    if not tried:
        _check_size(data.forest, min(numbers), family)
    choice = choose(data.forest, None, tried, family, seed=int(rng.integers(2**32)), **settings)
    choice_note = f"{counted(choice.n_states, 'state')} by BIC, of {', '.join(map(str, tried))}"
    return choice.best.model, [choice_note, *(f"pooled fit: {note}" for note in choice.best.notes)]


def _parameters(forest: EvidenceForest, n_states: int, emission: Any) -> int:
    return count_parameters(shape_of(forest, n_states, emission, PARTS, False))


def _fits(forest: EvidenceForest, n_states: int, emission: Any) -> bool:
    return _parameters(forest, n_states, emission) < forest.n_nodes


def _check_size(forest: EvidenceForest, n_states: int, emission: Any) -> None:
    """Refuse a model with as many parameters as there are observations."""
    if not _fits(forest, n_states, emission):
        free = counted(_parameters(forest, n_states, emission), "parameter")
        rule = f"a model of {counted(n_states, 'state')} has {free} for {counted(forest.n_nodes, 'observation')}"
        refuse(InvalidModel, "n_states", rule, remedy="take fewer states")


@dataclass(frozen=True)
class _Test:
    """The permutation test of some of the sequences, and what it needs."""

    data: GroupedData
    permutations: int
    executor: Executor
    dealing: np.random.Generator
    drawing: np.random.Generator
    refitted: bool  # whether a pair has a pooled model of its own

    def of(self, chosen: IntArray, pooled: Model, title: str) -> tuple[WhiteScores, float, Array]:
        """The scores of the chosen sequences at a model, their statistic, and those of the same dealt anew."""
        forest, strata = self.data.forest.take(chosen), self.data.strata[chosen]
        _, labels = np.unique(self.data.labels[chosen], return_inverse=True)
        groups = int(labels.max()) + 1
        blocks = blocks_of(pooled)
        scores = forest_scores(pooled, forest, blocks)
        like = forest_scores(pooled, drawn_like(pooled, forest, scores.shape[1], self.drawing), blocks)
        white = whitened(scores, strata, like)
        drawn = reference(white, labels, groups, self.permutations, self.dealing, self.executor, title)
        return white, statistic(white, labels, groups), drawn

    def pairs(self, pooled: Model, overall: tuple[float, float]) -> list[tuple[int, int, float, float]]:
        """(first, second, statistic, p-value) of every pair of groups: dealt among the two, at the model of the two."""
        pairs = list(combinations(range(len(self.data.names)), 2))
        if len(pairs) == 1:
            return [(*pairs[0], *overall)]
        tests = []
        for one, two in pairs:
            chosen = np.flatnonzero(np.isin(self.data.labels, (one, two)))
            model = refit(pooled, self.data.forest.take(chosen), CLIMB).model if self.refitted else pooled
            title = f"permutations of {self.data.names[one]} and {self.data.names[two]}"
            _, value, drawn = self.of(chosen, model, title)
            tests.append((one, two, value, p_value(value, drawn)))
        return tests


def drawn_like(model: Model, forest: EvidenceForest, n_coordinates: int, rng: np.random.Generator) -> EvidenceForest:
    """Sequences drawn from a model in the shapes of those of a forest, enough for an information matrix."""
    most = int(np.clip(DRAWN_NODES * forest.n_trees // max(forest.n_nodes, 1), 3 * n_coordinates, DRAWN))
    return redrawn(model, forest.take(np.resize(rng.permutation(forest.n_trees), most)), rng)


def _group_models(data: GroupedData, pooled: Model) -> tuple[list[Model], list[str]]:
    """A model of each group, climbed from the pooled one."""
    models, notes = [], []
    for g, name in enumerate(data.names):
        result = refit(pooled.renamed(name), data.of(g), CLIMB)
        if _stuck(pooled) or _stuck(result.model):
            other = refit(_loosened(pooled.renamed(name)), data.of(g), CLIMB)
            result = max(result, other, key=lambda each: each.log_likelihood)
        models.append(result.model)
        notes += [f"fit of {name}: {note}" for note in result.notes]
    return models, notes


def _stuck(model: Model) -> bool:
    """Whether a state is next to never left for another: of groups far apart each may have its own states."""
    return any(bool(((rows > 0) & (rows < EDGE)).any()) for rows in model.transitions)


def _loosened(model: Model) -> Model:
    """The model with all steps that are possible made likely enough to be found again."""

    def mixed(rows: Array) -> Array:
        possible = rows > 0
        even = possible * (rows.sum(axis=-1) / np.maximum(possible.sum(axis=-1), 1))[..., None]
        return np.asarray((1.0 - LOOSE) * rows + LOOSE * even)

    return Model(
        mixed(model.initial),
        [mixed(rows) if there else None for rows, there in zip(model.transitions, model.has_transition, strict=True)],
        list(model.emissions), name=model.name, state_names=model.state_names, end=model.end,
        symbol_names=model.symbol_names, column_names=model.column_names,
    )  # fmt: skip


def _typical(forest: EvidenceForest) -> Tree:
    """The tree of the middle size; of chains without groups at most LONGEST steps."""
    sizes = np.diff(forest.start)
    middle = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
    first, last = int(forest.start[middle]), int(forest.start[middle + 1])
    group = None if forest.group is None else forest.group[first:last]
    if forest.parent is None:
        n = min(last - first, LONGEST)
        return Tree.chain(n, None if group is None else group[:n])
    parent = forest.parent[first:last]
    return Tree(np.where(parent < 0, -1, parent - first), group)


def _effect(
    p: Model, q: Model, known_p: EvidenceForest, known_q: EvidenceForest, tree: Tree, rng: np.random.Generator
) -> DivergenceInterval:
    """The observed divergence of two groups' models a step."""
    try:
        cov_p, cov_q = covariance_of(p, known_p), covariance_of(q, known_q)
        notes = tuple(dict.fromkeys([*cov_p.notes, *cov_q.notes]))
        interval = interval_of(observed_slopes(p, q, tree, cov_p, cov_q, rng), cov_p, cov_q, 0.95, notes)
    except ImpossibleEvidence as error:
        raise HidivError(f"differ: {error}") from error
    return interval.per(tree.n_nodes)


def _notes(data: GroupedData, pooled: Model, white: WhiteScores, permutations: int) -> list[str]:
    """What to know about the test."""
    notes = []
    number = ways(data.labels, data.strata)
    if number <= permutations:
        notes.append(f"all {number:.0f} ways to deal the sequences compared: no p-value is below {1.0 / number:.2g}")
    sizes = data.sizes
    if data.blocks is not None:
        steps = max(memory(t) for t in pooled.transitions)
        note = f"sequences cut into {counted(len(sizes), 'piece')} of {int(sizes.min())} to {int(sizes.max())} steps"
        if steps > data.blocks:
            note += f", shorter than the {steps:.0f} after which the chain has forgotten its state: p may be too small"
        notes.append(note)
    elif sizes.max() > UNEVEN * sizes.min():
        unit = "steps" if data.forest.parent is None else "nodes"
        how = "dealt within strata" if len(np.unique(data.strata)) > 1 else "dealt whatever their length"
        notes.append(f"sequences have {int(sizes.min())} to {int(sizes.max())} {unit}, {how}")
    if white.rank == 0:
        notes.append("the scores do not vary: the test has nothing to compare")
    return notes
