"""OpenAlea's hidden Markov trees and chains: columns of counts, tabulated or from a parametric law."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hidiv.adapters.tokens import Tokens
from hidiv.emissions.composite.mixture.mixture import Mixture
from hidiv.emissions.composite.product import Product
from hidiv.emissions.families.binomial import Binomial
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.negative_binomial import NegativeBinomial
from hidiv.emissions.families.poisson import Poisson
from hidiv.emissions.families.silent import Silent
from hidiv.emissions.family import Family
from hidiv.errors import InvalidFile, refuse, shown
from hidiv.models.model import Model
from hidiv.types import Array

TREES = (
    "HIDDEN_MARKOV_INDEPENDENT_OUT_TREE",
    "HIDDEN_MARKOV_OUT_TREE",
    "HIDDEN_MARKOV_TREE",
    "EQUILIBRIUM_HIDDEN_MARKOV_INDEPENDENT_OUT_TREE",
    "EQUILIBRIUM_HIDDEN_MARKOV_TREE",
)
CHAINS = (
    "HIDDEN_MARKOV_CHAIN",
    "EQUILIBRIUM_HIDDEN_MARKOV_CHAIN",
    "HIDDEN_SEMI-MARKOV_CHAIN",
    "EQUILIBRIUM_HIDDEN_SEMI-MARKOV_CHAIN",
)
READ = (
    "read are hidden Markov trees (HIDDEN_MARKOV_TREE and its kin), HIDDEN_MARKOV_CHAIN of order 1, and "
    "HIDDEN_SEMI-MARKOV_CHAIN without occupancy distributions"
)
MOST_COUNTS = 10_000  # largest symbol of a table; OpenAlea's own bounds are lower


class ObservationLaw(NamedTuple):
    """The law of one column in one state: a table (M,), or a parametric law of counts from `low` on."""

    kind: str
    low: int = 0
    high: int = 0
    parameter: float = 0.0
    probability: float = 0.0
    table: tuple[float, ...] = ()


def read_text(text: str, place: str) -> Model:
    """The model of a file: children independent given their parent, columns independent given the state."""
    tokens = Tokens(text, place)
    heading = tokens.take()
    if heading not in TREES + CHAINS:
        refuse(InvalidFile, place, f"{shown(heading)}, a format of OpenAlea, is not read", remedy=READ)
    if re.search(r"^\d+\tSTATES?\b", text, re.MULTILINE):
        refuse(
            InvalidFile,
            place,
            f"is a spreadsheet export of OpenAlea's {heading}, which cannot be read back",
            remedy="save the model again without the spreadsheet format",
        )
    stationary = heading.startswith("EQUILIBRIUM")
    n_states = tokens.count("the number of states", least=1)
    tokens.one_of(("STATES", "STATE"), "this word")
    if tokens.peek() == "ORDER":
        tokens.expect("ORDER")
        if tokens.count("the order", least=1) != 1:
            tokens.refuse("only order 1 can be represented, nodes that depend on the one before alone", tokens.at.text)
    initial: list[float] | str = "stationary"
    if not stationary or tokens.peek() == "INITIAL_PROBABILITIES":
        tokens.expect("INITIAL_PROBABILITIES")
        initial = tokens.law("initial probabilities", n_states)
    tokens.expect("TRANSITION_PROBABILITIES")
    transition = [_row(tokens, state, n_states, heading in CHAINS) for state in range(n_states)]
    if [token.text for token in tokens.left[:-4:-1]][::2] == ["STATE", "OCCUPANCY_DISTRIBUTION"]:
        rule = f"{heading} with an OCCUPANCY_DISTRIBUTION, a law of its own for the time in a state, is not read"
        refuse(InvalidFile, place, rule, remedy=READ)
    emission = _columns(tokens, n_states)
    tokens.finish()
    return Model(initial, transition, emission)


def _row(tokens: Tokens, state: int, n_states: int, chain: bool) -> list[float]:
    """The transition probabilities from a state; chains of variable order write their memory on the same line."""
    row = tokens.law("transition probabilities", n_states)
    memory: list[str] = []
    while chain and tokens.left and tokens.left[-1].line == tokens.at.line:
        memory.append(tokens.take())
    if memory not in ([], [str(state)]):
        rule = f"only order 1 can be represented, state {state} for a memory"
        tokens.refuse(rule, " ".join(memory))
    return row


def _columns(tokens: Tokens, n_states: int) -> Family:
    """The family of the output processes; a file without any is a Markov tree."""
    if not tokens.peek():
        return Silent(n_states)
    n_columns = tokens.count("the number of output processes", least=1)
    tokens.one_of(("OUTPUT_PROCESS", "OUTPUT_PROCESSES"), "this word")
    columns = [_column(tokens, f, n_states) for f in range(1, n_columns + 1)]
    return columns[0] if len(columns) == 1 else Product(columns)


def _column(tokens: Tokens, number: int, n_states: int) -> Family:
    """The family of one output process."""
    tokens.expect("OUTPUT_PROCESS", str(number), ":")
    tabulated = tokens.one_of(
        ("NONPARAMETRIC", "CATEGORICAL", "PARAMETRIC", "DISCRETE_PARAMETRIC"), "the kind of output process"
    )
    laws = []
    for state in range(n_states):
        tokens.expect("STATE", str(state), "OBSERVATION_DISTRIBUTION")
        laws.append(_table(tokens) if tabulated in ("NONPARAMETRIC", "CATEGORICAL") else _law(tokens))
    return _family(tokens, number, laws)


def _table(tokens: Tokens) -> ObservationLaw:
    """The law written as lines `OUTPUT m : probability`; symbols left out have probability 0."""
    values: list[float] = []
    written: list[str] = []
    while tokens.peek() == "OUTPUT":
        tokens.expect("OUTPUT")
        symbol = tokens.count("the symbol", MOST_COUNTS)
        if symbol < len(values):
            tokens.refuse("symbols must grow", symbol)
        values += [0.0] * (symbol - len(values))
        tokens.expect(":")
        written.append(tokens.peek())
        values.append(tokens.number("the probability"))
    return ObservationLaw("TABLE", table=tuple(tokens.rescaled("probabilities of symbols", values, written)))


def _law(tokens: Tokens) -> ObservationLaw:
    """The parametric law written as NAME INF_BOUND : low and further parameters."""
    kind = tokens.one_of(("BINOMIAL", "POISSON", "NEGATIVE_BINOMIAL", "UNIFORM"), "the law")
    tokens.expect("INF_BOUND", ":")
    law = ObservationLaw(kind, low=tokens.count("INF_BOUND", MOST_COUNTS))
    if kind in ("BINOMIAL", "UNIFORM"):
        tokens.expect("SUP_BOUND", ":")
        law = law._replace(high=tokens.count("SUP_BOUND", MOST_COUNTS, law.low))
    else:
        tokens.expect("PARAMETER", ":")
        law = law._replace(parameter=tokens.number("PARAMETER"))
        if law.parameter <= 0:
            tokens.refuse("PARAMETER must be above 0", law.parameter)
    if kind in ("BINOMIAL", "NEGATIVE_BINOMIAL"):
        tokens.expect("PROBABILITY", ":")
        law = law._replace(probability=tokens.number("PROBABILITY"))
        if not 0 <= law.probability <= 1 or (kind == "NEGATIVE_BINOMIAL" and law.probability == 0):
            tokens.refuse("PROBABILITY must be between 0 and 1", law.probability)
    return law


def _family(tokens: Tokens, number: int, laws: list[ObservationLaw]) -> Family:
    """One family for all states: their common law, a table where all laws are finite, else a mixture."""
    kinds = {law.kind for law in laws}
    if len(kinds) == 1 and kinds <= set(COUNTED):
        return COUNTED[laws[0].kind](laws)
    if kinds <= {"TABLE", "BINOMIAL", "UNIFORM"}:
        tables = [_tabulated(law) for law in laws]
        size = max(len(table) for table in tables)
        return Categorical([np.pad(table, (0, size - len(table))) for table in tables])
    place = f"{tokens.place}, OUTPUT_PROCESS {number}"
    if not kinds <= set(COUNTED):
        described = ", ".join(sorted(kinds))
        refuse(InvalidFile, place, "a uniform law beside one without a largest count cannot be represented", described)
    return _each_its_own(laws)


COUNTED: dict[str, Callable[[list[ObservationLaw]], Family]] = {
    "BINOMIAL": lambda laws: Binomial(
        [law.high - law.low for law in laws], [law.probability for law in laws], [law.low for law in laws]
    ),
    "NEGATIVE_BINOMIAL": lambda laws: NegativeBinomial(
        [law.parameter for law in laws], [law.probability for law in laws], [law.low for law in laws]
    ),
    "POISSON": lambda laws: Poisson([law.parameter for law in laws], [law.low for law in laws]),
}


def _each_its_own(laws: list[ObservationLaw]) -> Family:
    """A mixture for states with different laws, in which each state has all its weight on its own law."""
    kinds = sorted({law.kind for law in laws})
    weights = np.array([[float(law.kind == kind) for kind in kinds] for law in laws])
    # Where a component has no weight it repeats the law of a state that has this kind.
    others = {kind: next(law for law in laws if law.kind == kind) for kind in kinds}
    columns = [[law if law.kind == kind else others[kind] for law in laws] for kind in kinds]
    return Mixture(weights, [COUNTED[kind](column) for kind, column in zip(kinds, columns, strict=True)])


def _tabulated(law: ObservationLaw) -> Array:
    """(M,): the probabilities of 0, 1, ... of a finite law."""
    if law.kind == "TABLE":
        return np.array(law.table)
    counts = np.arange(law.high - law.low + 1.0)
    if law.kind == "UNIFORM":
        mass = np.full(len(counts), 1.0 / len(counts))
    else:
        mass = np.exp(Binomial([law.high - law.low], [law.probability]).log_prob(counts)[:, 0])
    return np.concatenate([np.zeros(law.low), mass / mass.sum()])
