"""The form of the model to be fitted (states, groups, families, ends), and checks of a start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hidiv.arguments import whole
from hidiv.emissions.family import Family
from hidiv.emissions.registry import FAMILIES, family_class
from hidiv.errors import HidivError, IncompatibleModels, InvalidEvidence, InvalidModel, counted, refuse
from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.models.symbol_names import alphabet_sizes, listed

PARTS = ("transition", "emission")


def shape_of(forest: EvidenceForest, n_states: Any, emission: Any, grouped: str | Iterable[str], end: bool) -> Model:
    """A model of the form asked for, with uniform laws and the prototypes of its families."""
    if n_states is None:
        refuse(InvalidModel, "n_states", "is needed without a start")
    k = whole("n_states", n_states)
    parts = [grouped] if isinstance(grouped, str) else list(grouped)
    for part in parts:
        if part not in PARTS:
            refuse(InvalidModel, "grouped", "names transition and emission", part)
    groups = forest.n_groups
    of_transition = groups if "transition" in parts else 1
    flat = np.full((k, k), 1.0 / k)
    transition: list[Any] = [flat] * of_transition
    if of_transition > 1 and forest.group is not None:
        child = np.ones(forest.n_nodes, dtype=np.bool_)
        child[forest.roots] = False
        used = np.isin(np.arange(groups), forest.group[child])
        transition = [flat if present else None for present in used]
    several = isinstance(emission, list | tuple)
    if several and len(emission) != groups:
        refuse(
            InvalidModel,
            "emission",
            f"must be one family, or one for each of the {counted(groups, 'group')}",
            len(emission),
        )
    count = groups if "emission" in parts or several else 1
    families: list[Family] = [
        prototype(each, k, forest.evidence) for each in (emission if several else [emission] * count)
    ]
    _check_columns(forest.evidence, families)
    _check_text(forest, families)
    stop = None
    if end:
        check_end(forest, of_transition)
        stop = np.full(k, 0.5)
        transition = [flat * 0.5]
    if all(t is None for t in transition):  # every tree has one node
        transition = [flat]
    return Model(
        np.full(k, 1.0 / k), transition, families, end=stop,
        symbol_names=forest.evidence.symbol_names, column_names=_usable(forest.evidence.column_names),
    )  # fmt: skip


def _usable(headings: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The headings of a table as names of columns; None where two are the same."""
    return headings if headings is not None and len(set(headings)) == len(headings) else None


def _check_columns(known: Evidence, families: list[Family]) -> None:
    """Refuse more or fewer columns than a family has; evidence without values fits every family."""
    for family in families if known.has_numbers else ():
        if family.n_features != known.n_features:
            titles = f" ({', '.join(known.column_names)})" if known.column_names else ""
            rule = f"{family.name} takes {counted(family.n_features, 'column')}"
            remedy = "give the columns it takes, or a hd.Product with a family for each"
            refuse(InvalidEvidence, "evidence", rule, f"{known.n_features}{titles}", remedy)


def _check_text(forest: EvidenceForest, families: list[Family]) -> None:
    """Refuse columns of text for families of numbers."""
    known = forest.evidence
    for family in families:
        sizes = alphabet_sizes(family)
        for f, names in enumerate(known.symbol_names or ()):
            if names is None or (f < len(sizes) and sizes[f] is not None):
                continue
            title = repr(known.column_names[f]) if known.column_names else str(f)
            others = "leave the column out, or give a hd.Product with a hd.Categorical for it"
            remedy = 'use emission="categorical"' if known.n_features == 1 else others
            rule = f"holds text ({listed(names)}) and {family.name} takes numbers"
            refuse(InvalidEvidence, f"evidence, column {title}", rule, remedy=remedy)


def check_end(forest: EvidenceForest, groups: int) -> None:
    """Refuse end probabilities on trees and with groups of transitions."""
    if forest.parent is not None or groups > 1:
        refuse(IncompatibleModels, "end", "needs chains without groups of transitions")


def with_end(model: Model, forest: EvidenceForest, fixed: frozenset[str]) -> Model:
    """The start with end probabilities, the same for every state and right for the mean length of the chains."""
    check_end(forest, len(model.transitions))
    if "transition" in fixed:
        refuse(HidivError, "end", "cannot be fitted while transition is fixed", remedy="give a start that has an end")
    stop = np.full(model.n_states, min(0.5, forest.n_trees / forest.n_nodes))
    return Model(
        model.initial, model.transitions[0] * (1.0 - stop)[:, None], model.emissions, name=model.name,
        state_names=model.state_names, end=stop, symbol_names=model.symbol_names, column_names=model.column_names,
    )  # fmt: skip


def check_start(model: Model, forest: EvidenceForest, n_states: int | None) -> None:
    """Refuse a start that does not fit the evidence."""
    if n_states is not None and n_states != model.n_states:
        refuse(InvalidModel, "n_states", f"must be the {model.n_states} of the start, or None", n_states)
    if model.n_groups > 1:
        if forest.group is None:
            refuse(
                IncompatibleModels,
                "start",
                f"has {model.n_groups} groups but the trees have none",
                remedy='give group="level" or labels',
            )
        if forest.n_groups > model.n_groups:
            refuse(IncompatibleModels, "start", f"has {model.n_groups} groups, the trees have {forest.n_groups}")
    if model.end is not None and forest.parent is not None:
        refuse(IncompatibleModels, "start", "has end probabilities, which need chains")
    if not model.has_transition.all() and forest.group is not None:
        child = np.ones(forest.n_nodes, dtype=np.bool_)
        child[forest.roots] = False
        lacking = np.flatnonzero(~model.has_transition & np.isin(np.arange(model.n_groups), forest.group[child]))
        if lacking.size:
            refuse(
                IncompatibleModels,
                f"start.transition[{int(lacking[0])}]",
                "is null but nodes other than roots are in this group",
            )


def check_fixed(fixed: frozenset[str], model: Model) -> None:
    """Refuse names that are neither parts nor parameters of the model."""
    known = {"initial", *PARTS}.union(*(_names(family) for family in model.emissions))
    for name in sorted(fixed - known):
        refuse(HidivError, "fixed", "must name parts or parameters of the model", name, "known are " + _listed(known))


def _listed(names: Iterable[str]) -> str:
    """Names in alphabetical order, joined by commas."""
    return ", ".join(sorted(names))


def _names(family: Any) -> set[str]:
    """The parameters of a family and of those it is made of."""
    return (set(family.parameters()) - {family.nested}).union(*(_names(member) for member in family.members()))


def prototype(emission: Any, n_states: int, evidence: Evidence) -> Family:
    """A family of K states: a template's own shape and settings, or plain parameters for a name or a class.

    Of a template with K states the parameters are kept (they matter for those that stay fixed), of any other the first
    state's are repeated.
    """
    if hasattr(emission, "n_states") and not isinstance(emission, type):
        template: Family = emission
        return template if template.n_states == n_states else template.take(np.zeros(n_states, dtype=np.int64))
    name = emission if isinstance(emission, str) else getattr(emission, "name", None)
    if name not in FAMILIES:
        refuse(
            InvalidModel,
            "emission",
            "must be a family, its class or its name",
            emission,
            "known are " + ", ".join(FAMILIES),
        )
    x = np.asarray(evidence.x, dtype=np.float64) if evidence.has_numbers else None
    built: Family = family_class(name).begin(n_states, x, _n_symbols(evidence))
    return built


def _n_symbols(evidence: Evidence) -> int:
    """How many symbols the evidence names; 0 for none."""
    x = np.asarray(evidence.x, dtype=np.float64)
    seen = x[~np.isnan(x)]
    sizes = [int(seen.max()) + 1] if seen.size and np.isfinite(seen).all() else []
    if evidence.symbols is not None:
        sizes.append(evidence.symbols.shape[1])
    sizes += [max(members, default=0) + 1 for members in evidence.symbol_sets.values()]
    sizes += [len(names) for names in evidence.symbol_names or () if names is not None]
    return max(1, *sizes) if sizes else 0
