"""The result of `differ`: p-values, effect sizes and models, in words, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isinf, log
from typing import Any

import numpy as np

from hidiv.divergences.result import number, plain
from hidiv.errors import InvalidFile, counted
from hidiv.fitting.divergence_interval import DivergenceInterval
from hidiv.models.checks import check_format, check_keys, frozen
from hidiv.models.model import Model
from hidiv.types import Array
from hidiv.values import Value

LEVEL = 0.05  # p-values up to this are called a difference
ERROR = 0.001  # of a test that tells two groups apart from one long sequence


@dataclass(frozen=True, eq=False, repr=False)
class GroupPair(Value):
    """Two groups: their p-value, that after Holm's correction for all pairs, and the divergence a step.

    Attributes
    ----------
    first, second : str
        The names of the groups.
    p_value : float
        The p-value of the pair alone.
    adjusted : float
        After Holm's correction.
    statistic : float
        The statistic of the pair.
    divergence : DivergenceInterval
        The observed divergence of the first group's model from the second's, over the number of nodes.
    unit : str
        What a node is called: "step" of a chain, "node" of a tree.

    Examples
    --------
    >>> import hidiv as hd
    >>> groups = {"a": [[0, 1, 0, 0]] * 5 + [[1, 0, 0, 2]] * 5, "b": [[3, 2, 5, 4]] * 5 + [[4, 4, 2, 6]] * 5}
    >>> pair, = hd.differ(groups, n_states=1, emission="poisson", seed=1, n_init=1).pairs
    >>> pair.first, pair.second, pair.p_value < 0.05
    ('a', 'b', True)
    """

    first: str
    second: str
    p_value: float
    adjusted: float
    statistic: float
    divergence: DivergenceInterval
    unit: str = "step"

    def to_dict(self) -> dict[str, Any]:
        """The pair as plain numbers and texts."""
        return {
            "first": self.first, "second": self.second, "p_value": self.p_value, "adjusted": self.adjusted,
            "statistic": plain(self.statistic), "divergence": self.divergence.to_dict(), "unit": self.unit,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"{self.first} and {self.second}: p = {shown_p(self.adjusted)}; {effect_text(self)}"


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Value):
    """Whether groups of sequences differ; returned by `hd.differ`.

    Attributes
    ----------
    p_value : float
        Of the hypothesis that the sequences could as well have been dealt to the groups at random.
    statistic : float
        The score statistic of the groups as they are.
    pairs : tuple of GroupPair
        Every pair of groups with its p-value (alone, and after Holm's correction) and its divergence.
    divergences : dict
        (first, second) -> DivergenceInterval, the observed divergence a step of the two groups' models.
    models : dict
        Name -> Model, fitted to each group from the pooled model.
    pooled : Model
        The model of all sequences, at which the scores are taken.
    sizes : dict
        Name -> the number of sequences.
    rank : int
        The number of directions in which the scores vary; the statistic has about this mean under the hypothesis.
    permutations : int
        The number of times the sequences were dealt anew.
    reference : ndarray of shape (201,)
        Quantiles of the statistics of these, from 0 to 100 percent in steps of half a percent.
    notes : tuple of str
        What to know about the numbers.
    differs : bool
        Whether the p-value is at most 0.05.

    Examples
    --------
    >>> import hidiv as hd
    >>> groups = {"a": [[0, 1, 0, 0]] * 5 + [[1, 0, 0, 2]] * 5, "b": [[3, 2, 5, 4]] * 5 + [[4, 4, 2, 6]] * 5}
    >>> found = hd.differ(groups, n_states=1, emission="poisson", seed=1, n_init=1)
    >>> found.differs, sorted(found.models)
    (True, ['a', 'b'])
    """

    p_value: float
    statistic: float
    pairs: tuple[GroupPair, ...]
    models: dict[str, Model]
    pooled: Model
    sizes: dict[str, int]
    rank: int
    permutations: int
    reference: Array
    notes: tuple[str, ...] = ()

    @property
    def divergences(self) -> dict[tuple[str, str], DivergenceInterval]:
        """(first, second) -> the divergence a step, with its interval."""
        return {(pair.first, pair.second): pair.divergence for pair in self.pairs}

    @property
    def differs(self) -> bool:
        """Whether the p-value is at most 0.05."""
        return self.p_value <= LEVEL

    def sentence(self) -> str:
        """The finding in one sentence."""
        names = list(self.models)
        if len(names) == 2:
            groups = f"groups {names[0]} and {names[1]}"
            verdict = f"{groups} differ" if self.differs else f"no difference between {groups} was found"
            return f"{verdict} (p = {shown_p(self.p_value)}); {effect_text(self.pairs[0], self.differs)}"
        verdict = (
            f"the {len(names)} groups differ"
            if self.differs
            else f"no difference among the {len(names)} groups was found"
        )
        apart = [pair for pair in self.pairs if pair.adjusted <= LEVEL]
        which = ", ".join(f"{pair.first} and {pair.second} (p = {shown_p(pair.adjusted)})" for pair in apart)
        total = counted(len(self.pairs), "pair")
        verb = "differs" if len(apart) == 1 else "differ"
        return f"{verdict} (p = {shown_p(self.p_value)}); of {total} {len(apart)} {verb}{': ' + which if apart else ''}"

    def summary(self) -> str:
        """The finding, every pair and the notes, as lines of text."""
        lines = [self.sentence()]
        if len(self.pairs) > 1:
            lines += [f"  {pair!r}" for pair in self.pairs]
        each = ", ".join(f"{count} in {name}" for name, count in self.sizes.items())
        lines.append(
            f"  {each}; {counted(self.permutations, 'permutation')} of scores in {counted(self.rank, 'direction')} at "
            f"the pooled model of {counted(self.pooled.n_states, 'state')}"
        )
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers and texts, models in the form of their files."""
        return {
            "format": "hidiv.difference", "version": 1, "p_value": self.p_value, "statistic": plain(self.statistic),
            "pairs": [pair.to_dict() for pair in self.pairs],
            "models": {name: model.to_dict() for name, model in self.models.items()},
            "pooled": self.pooled.to_dict(), "sizes": dict(self.sizes), "rank": self.rank,
            "permutations": self.permutations, "reference": plain(self.reference.tolist()), "notes": list(self.notes),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Difference:
        """The result of a description as `to_dict` writes it; anything else is refused."""
        keys = (
            "p_value",
            "statistic",
            "pairs",
            "models",
            "pooled",
            "sizes",
            "rank",
            "permutations",
            "reference",
            "notes",
        )
        check_keys(InvalidFile, described, keys, ("format", "version"))
        check_format(InvalidFile, described, "hidiv.difference")
        pairs = tuple(
            GroupPair(
                each["first"], each["second"], float(each["p_value"]), float(each["adjusted"]),
                number(each["statistic"]), DivergenceInterval.from_dict(each["divergence"]), each["unit"],
            )
            for each in described["pairs"]
        )  # fmt: skip
        models = {str(name): Model.from_dict(model) for name, model in described["models"].items()}
        reference = frozen(np.array([number(each) for each in described["reference"]]))
        return cls(
            float(described["p_value"]), number(described["statistic"]), pairs, models,
            Model.from_dict(described["pooled"]), dict(described["sizes"]), int(described["rank"]),
            int(described["permutations"]), reference, tuple(described["notes"]),
        )  # fmt: skip

    def __repr__(self) -> str:
        return self.summary()


def shown_p(value: float) -> str:
    """A p-value for people: 0.0004, 0.29."""
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def effect_text(pair: GroupPair, tell: bool = True) -> str:
    """The divergence a step, and how many observations tell the groups apart."""
    interval = pair.divergence
    if isinf(interval.value):
        return "their models exclude each other's observations"
    text = f"{interval.value:.2g} nats a {pair.unit} [{interval.lower:.2g}, {interval.upper:.2g}]"
    needed = observations(interval.value)
    if tell and not isinf(needed):
        many = f"{needed:.0f}"
        text += f"; about {counted(many, 'observation')} {'tells' if many == '1' else 'tell'} them apart"
    return text


def observations(rate: float) -> float:
    """Expected observations of a sequential test with errors of one in a thousand (definitions (7.1))."""
    if rate <= 0.0:
        return float("inf")
    exact = (1.0 - 2.0 * ERROR) * log((1.0 - ERROR) / ERROR) / rate
    scale = 10.0 ** max(0, len(str(ceil(exact))) - 2)
    return ceil(exact / scale) * scale
