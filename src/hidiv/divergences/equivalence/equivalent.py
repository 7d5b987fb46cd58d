"""`equivalent`: are two models the same process, whatever their states? If not, a shortest word that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hidiv.arguments import number
from hidiv.divergences.equivalence.blocks import same_on_trees
from hidiv.divergences.equivalence.letters import Letters, few, letters_of, points_of
from hidiv.divergences.equivalence.spanning_words import Words
from hidiv.divergences.pair import Pair, check_length, check_observations
from hidiv.divergences.quantities import header
from hidiv.divergences.result import number as from_json
from hidiv.divergences.result import plain
from hidiv.divergences.saved_checks import read_saved
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, IntArray
from hidiv.values import Value

TOLERANCE = 1e-10
ROUNDING = 1e-14  # relative: what rounding alone makes of equal probabilities of words
LISTED = 1 << 20  # numbers of the words of a level; beyond it only letters that span all of them are tried
POINTS = 40  # observations drawn from each state, of which a word of numbers is made
PLACES = ("chains", "trees")


@dataclass(frozen=True, eq=False, repr=False)
class Equivalence(Value):
    """Whether two models are the same process, as `hd.equivalent` returns it; true where they are.

    Parameters
    ----------
    equal : bool
        Whether both give every word the same probability, within the tolerance.
    word : tuple or None
        A shortest word that they give different probabilities: symbols, numbers, or tuples of several columns. None
        where they are equal, or differ on trees alone.
    probabilities : tuple of float or None
        p(word) and q(word); densities where observations are numbers.
    ends : bool
        Whether the word is a whole sequence, after which the chain ends, rather than the beginning of one.
    on : str
        "chains", or "trees" for all trees.
    tolerance : float
        Probabilities that differ relatively by at most this are taken as equal.
    difference : float
        The largest relative difference of the two probabilities of a word among those looked at.
    names : tuple of str, default ("p", "q")
        The names of the models.
    symbols : tuple of str or None, default None
        The word in the names of its symbols, where they have names.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 5.0]))
    >>> bool(hd.equivalent(p, p.relabel([1, 0])))
    True
    """

    equal: bool
    word: tuple[Any, ...] | None
    probabilities: tuple[float, float] | None
    ends: bool
    on: str
    tolerance: float
    difference: float
    names: tuple[str, str] = ("p", "q")
    symbols: tuple[str, ...] | None = None

    def __bool__(self) -> bool:
        return self.equal

    def summary(self) -> str:
        """The answer in one sentence."""
        both = " and ".join(self.names)
        where = "" if self.on == "chains" else " on all trees"
        if self.equal:
            return f"{both} are the same process{where}, whatever their states (tolerance {self.tolerance:g})"
        if self.word is None or self.probabilities is None:
            return f"{both} are the same process on chains, but not on trees whose nodes have several children"
        shown = " ".join(self.symbols or tuple(_shown(letter) for letter in self.word))
        what = (
            "density"
            if any(isinstance(x, float) for x in np.ravel(np.array(self.word, dtype=object)))
            else "probability"
        )
        begin = "the whole sequence" if self.ends else "the beginning"
        sides = " and ".join(f"{x:.6g} in {name}" for name, x in zip(self.names, self.probabilities, strict=True))
        return f"{both} differ{where}: {begin} {shown} has {what} {sides}, and nothing shorter tells them apart"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        return header("equivalence") | {
            "equal": self.equal, "word": None if self.word is None else plain(self.word),
            "probabilities": None if self.probabilities is None else plain(self.probabilities), "ends": self.ends,
            "on": self.on, "tolerance": self.tolerance, "difference": plain(self.difference),
            "names": list(self.names), "symbols": None if self.symbols is None else list(self.symbols),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Equivalence:
        """The answer of a description as `to_dict` writes it."""

        def build() -> Equivalence:
            word, pair, symbols = (described[key] for key in ("word", "probabilities", "symbols"))
            first, second = described["names"]
            return cls(
                bool(described["equal"]),
                None if word is None else tuple(tuple(x) if isinstance(x, list) else x for x in word),
                None if pair is None else (from_json(pair[0]), from_json(pair[1])),
                bool(described["ends"]), str(described["on"]), float(described["tolerance"]),
                from_json(described["difference"]), (str(first), str(second)),
                None if symbols is None else tuple(map(str, symbols)),
            )  # fmt: skip

        keys = ("equal", "word", "probabilities", "ends", "on", "tolerance", "difference", "names", "symbols")
        return read_saved(described, "hidiv.equivalence", keys, build)

    def __repr__(self) -> str:
        return self.summary()


def equivalent(p: Any, q: Any, *, on: str = "chains", tolerance: float = TOLERANCE) -> Equivalence:
    """Decide whether two models are the same process, whatever their states.

    Two models are the same process if they give every word of observations the same probability. Their states may be
    ordered, split or merged differently. The answer is exact up to rounding for finite alphabets and for families
    whose distinct laws are linearly independent (Gaussian, Poisson, exponential, gamma and others, and mixtures and
    products of them).

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with one group each; their numbers of states may differ.
    on : {"chains", "trees"}, default "chains"
        "chains" compares the chains of every length; models with `end` are compared as chains of random length.
        "trees" compares all trees with any numbers of children, which asks for more: siblings show how much of a state
        they share.
    tolerance : float, default 1e-10
        Two probabilities of a word, and two densities, that differ relatively by at most this count as equal.

    Returns
    -------
    Equivalence
        Whether they are equal, and if not a shortest word with its two probabilities.

    Raises
    ------
    IncompatibleModels
        Where a model has groups, one has `end` and the other has not, the observations are of different kinds, or a
        family's laws are not linearly independent (beta, multinomial).

    See Also
    --------
    minimal : the smaller model that is the same process.
    observed_kl_rate : how far apart two models are that are not the same.

    Notes
    -----
    Definitions (12.1). The vectors of all words span a space of at most K + K' dimensions, which words of at most
    K + K' - 1 letters span already. Words are looked at breadth first and kept where they add a dimension, so that the
    first difference found is on a shortest word. On trees the functions of the state that subtrees can show are closed
    under products, so equality is one of blocks of states: definitions (12.4).

    References
    ----------
    W.-G. Tzeng, A polynomial-time algorithm for the equivalence of probabilistic automata, SIAM Journal on Computing
    21 (1992), 216-227.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.9, 0.1], [0.3, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], hd.Categorical([[0.9, 0.1], [0.3, 0.7]]))
    >>> hd.equivalent(p, p.relabel([1, 0])).equal
    True
    >>> hd.equivalent(p, q).word
    (0, 1)
    """
    pair = Pair.models(p, q)
    room = number("tolerance", tolerance)
    if on not in PLACES:
        refuse(HidivError, "on", f"must be {' or '.join(PLACES)}", on)
    if on == "trees" and pair.p.end is not None:
        refuse(IncompatibleModels, "on", "models with end probabilities are chains of random length", on, "use chains")
    for name, model in (("p", pair.p), ("q", pair.q)):
        check_one_group(model, name)
    check_length(pair.p, pair.q, until_end=pair.p.end is not None)
    check_observations(pair.p, pair.q)
    return _decided(pair.p, pair.q, on, room)


def check_one_group(model: Model, name: str) -> None:
    """Refuse models with groups: their law depends on the tree."""
    if model.n_groups > 1:
        rule = "needs a model with one group, the same at every node"
        refuse(IncompatibleModels, name, rule, f"{model.n_groups} groups", "compare them on a tree with hd.observed_kl")


class Automaton(NamedTuple):
    """One or two models side by side over the same letters."""

    initial: Array  # (n,)
    transition: Array  # (n, n), in blocks
    letters: Array  # (n, S)
    tests: Array  # (n, k): what follows a word: anything at all, and the end

    @property
    def first(self) -> Array:
        """(S, n): the vectors of single letters."""
        return np.asarray(self.initial * self.letters.T)

    def step(self, vectors: Array) -> Array:
        """(B, S, n): the vectors of words one letter longer than those of (B, n)."""
        return np.asarray((vectors @ self.transition)[:, None, :] * self.letters.T)


def automaton(*models: Model, tables: tuple[Array, ...]) -> Automaton:
    """Models side by side, with the tables of their letters."""
    n = sum(model.n_states for model in models)
    transition, place = np.zeros((n, n)), 0
    for model in models:
        end = place + model.n_states
        transition[place:end, place:end] = model.transitions[0]
        place = end
    tests = [np.ones(n)]
    if models[0].end is not None:
        tests.append(np.concatenate([model.end for model in models if model.end is not None]))
    initial = np.concatenate([model.initial for model in models])
    return Automaton(initial, transition, np.concatenate(tables), np.stack(tests, axis=1))


def _decided(p: Model, q: Model, on: str, tolerance: float, *, spell: bool = True) -> Equivalence:
    """The answer for two models that can be compared; without `spell` no word is written out."""
    names = (p.name or "p", q.name or "q")
    most = LISTED // (p.n_states + q.n_states) ** 2
    letters = few(letters_of([p.emissions[0], q.emissions[0]], tolerance), most)
    first = _first_difference(automaton(p, q, tables=letters.tables), p.n_states, tolerance)
    if first.word is None:
        equal = on == "chains" or same_on_trees(p, q, letters.tables, tolerance)
        return Equivalence(equal, None, None, False, on, tolerance, first.difference, names)
    if not spell:
        return Equivalence(False, None, None, False, on, tolerance, first.difference, names)
    if letters.rows is None:
        letters = few(_points(p, q), most)
        first = _first_difference(automaton(p, q, tables=letters.tables), p.n_states, 0.0, len(first.word))
        assert first.word is not None
        assert letters.rows is not None
    rows = letters.rows[first.word]
    values = tuple(_probability(model, rows, first.ends) for model in (p, q))
    return Equivalence(
        False, _word(rows, p), (values[0], values[1]), first.ends, on, tolerance, first.difference, names,
        _named(rows, p, q),
    )  # fmt: skip


def same_process(pair: Pair) -> bool:
    """Whether rounding alone tells two models apart, on the tree they are compared on; False where it is not known."""
    p, q = pair.p, pair.q
    if max(p.n_groups, q.n_groups) > 1 or (p.end is None) != (q.end is None):
        return False
    places = "trees" if isinstance(pair.tree, Tree) and not pair.tree.is_chain else "chains"
    try:
        return _decided(p, q, places, ROUNDING, spell=False).equal
    except HidivError:  # other observations, or laws that are not linearly independent
        return False


class Found(NamedTuple):
    """The first difference, or none."""

    word: IntArray | None  # letters
    ends: bool
    difference: float


def _first_difference(both: Automaton, n_first: int, tolerance: float, length: int | None = None) -> Found:
    """A shortest word whose probabilities differ; of those looked at, the one where they differ most.

    length: look at words of this length alone, and take the one that differs most.
    """
    words, largest = Words(both.first, both.step), 0.0
    for level in words:
        values = [level.vectors[:, part] @ both.tests[part] for part in (slice(n_first), slice(n_first, None))]
        top = np.maximum(*values)
        apart = np.abs(values[0] - values[1]) / np.where(top > 0, top, 1.0)
        last = float(apart.max()) if apart.size else 0.0
        largest = max(largest, last)
        if last > tolerance if length is None else len(words.levels) == length:
            at, test = np.unravel_index(int(np.argmax(apart)), apart.shape)
            return Found(words.spelled(int(at)), bool(test == 1), last)
    return Found(None, False, largest)


def _points(p: Model, q: Model) -> Letters:
    """Observations drawn from every state as letters: their densities span those of the laws."""
    families = [p.emissions[0], q.emissions[0]]
    rows = np.unique(points_of(families, POINTS, np.random.default_rng(0)), axis=0)
    logs = [family.log_weight(rows) for family in families]  # (P, K)
    top = np.maximum(*(each.max(axis=1) for each in logs))
    seen = np.isfinite(top)
    tables = tuple(np.exp(each[seen] - top[seen, None]).T for each in logs)
    return Letters(tables, rows[seen])


def _probability(model: Model, rows: Array, ends: bool) -> float:
    """The probability, or the density, of a word; scaled on the way, so that nothing underflows early."""
    logs = model.emissions[0].log_weight(rows) if model.n_features else np.zeros((len(rows), model.n_states))
    law, total = model.initial, 0.0
    for t, each in enumerate(logs):
        top = float(each.max())
        if top == -np.inf:
            return 0.0
        law = (law if t == 0 else law @ model.transitions[0]) * np.exp(each - top)
        size = float(law.sum())
        if size == 0.0:
            return 0.0
        law, total = law / size, total + float(np.log(size)) + top
    last = float(law @ model.end) if ends and model.end is not None else 1.0
    with np.errstate(over="ignore"):
        return float(np.exp(total)) * last


def _word(rows: Array, model: Model) -> tuple[Any, ...]:
    """Observations as plain numbers, whole ones as ints, several columns as tuples."""
    whole = [space.n_symbols is not None or space.is_counts for space in model.emissions[0].column_spaces()]
    each = [tuple(int(x) if w else float(x) for x, w in zip(row, whole, strict=True)) for row in rows]
    return tuple(row[0] if len(row) == 1 else row for row in each)


def _named(rows: Array, p: Model, q: Model) -> tuple[str, ...] | None:
    """The word in the names of its symbols, where every column has them."""
    names = p.symbol_names or q.symbol_names
    if not names or any(column is None for column in names):
        return None
    each = [[column[int(x)] for x, column in zip(row, names, strict=True) if column is not None] for row in rows]
    return tuple(row[0] if len(row) == 1 else f"({', '.join(row)})" for row in each)


def _shown(letter: Any) -> str:
    """A letter for a sentence."""
    if isinstance(letter, tuple):
        return f"({', '.join(map(_shown, letter))})"
    return f"{letter:.4g}" if isinstance(letter, float) else str(letter)
