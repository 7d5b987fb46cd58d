"""The page about two models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isinf, log
from typing import Any, TypeGuard

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.divergences.compare import INTERRUPTED, compare
from hidiv.divergences.comparison import Comparison
from hidiv.divergences.joint.local_terms import Local, local_terms
from hidiv.divergences.pair import Pair, tree_in_words
from hidiv.divergences.quantities import MEANINGS, in_words
from hidiv.divergences.result import Divergence, Parts, plain
from hidiv.errors import HidivError, counted, refuse
from hidiv.inference.influence import influence
from hidiv.inference.rows import evidence_and_tree
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Progress
from hidiv.report.aligned import Reading, matching, pairing, readings
from hidiv.report.causes import Cause, causes, finite_whole, guilty, infinite_quantities
from hidiv.report.charts import BarChart, TreeChart, node_chart
from hidiv.report.data_strip import said, strip
from hidiv.report.digits import is_estimate
from hidiv.report.emission_pictures import pictures
from hidiv.report.heat_tables import heat_tables, share
from hidiv.report.method_words import methods, promises
from hidiv.report.page import Page, render, versions
from hidiv.report.samples_needed import samples_needed
from hidiv.report.state_diagram import diagrams
from hidiv.report.state_names import names_of, state_name

STRONGEST = 10  # observations that are named
MOST = 400  # rows; of more, the largest are shown
QUESTIONS = {
    "Difference": "Do the groups of data differ?",
    "Reduction": "Could there be fewer states?",
    "Choice": "How many states?",
    "Equivalence": "Are they the same process?",
    "Minimal": "Are some of the states one?",
    "Matching": "Which state is which?",
    "Agreement": "Do the fits agree?",
    "StandardErrors": "How sure are the parameters?",
    "DivergenceInterval": "How sure is the divergence of the fits?",
    "BootstrapResult": "How sure is the divergence of the fits?",
    "FitResult": "How did the fit go?",
    "Measure": "By another measure",
}


def pair_page(
    p: Any, q: Any, tree: Any = None, *, evidence: Any = None, seed: int = 0, json_name: str = "report.json",
    stopped: Callable[[], bool] = lambda: False, results: Sequence[Any] = (),
) -> Page:  # fmt: skip
    """One self-contained HTML page: how p and q differ, where, along which data, and how that was computed.

    After an interrupt the page has what is finished; `stopped` tells whether one came while a computation went on with
    what it had. `results` are further answers (`QUESTIONS`), each of which gets a section. The JSON can be
    downloaded from the page; if the page would exceed a megabyte, the JSON goes into the file `json_name` next to it.
    """
    p, q = as_models(p, q)
    comparison = compare(p, q, tree, evidence=evidence, seed=seed)
    where = _tree(tree, evidence)
    missing = [in_words(name) for name, why in comparison.undefined.items() if why == INTERRUPTED]
    ways = [
        _shown_reading(p, reading, where, evidence, first=i == 0)
        for i, reading in enumerate(readings(p, q, comparison, where, evidence))
    ]
    for i, way in enumerate(ways):
        way["tables_before"] = sum(len(other["tables"]) for other in ways[:i])
    influences: list[dict[str, Any]] = []
    apart = None
    try:
        _influences(influences, p, q, where, evidence)
        if stopped():
            raise KeyboardInterrupt
        with Progress("telling them apart") as progress:
            apart = samples_needed(p, q, comparison, where, progress)
    except KeyboardInterrupt:  # the page of what is finished
        missing += _unfinished(influences, evidence)
    names = names_of(p, q)
    data = _data(p, q, comparison, where, ways[0], influences, apart, missing)
    data["results"] = [result.to_dict() for result in results]
    return render(
        "pair.html.j2",
        {
            "title": f"{names[0]} against {names[1]}",
            "names": names,
            "about": "" if where is None else tree_in_words(where),
            "seen": counted(where.n_nodes, "observation") if _is_chain(where) else "observations",
            "comparison": comparison,
            "ways": ways,
            "pairing": pairing(p, q, comparison),
            "matching": matching(p, q),
            "states": [[state_name(model, s) for s in range(model.n_states)] for model in (p, q)],
            "influences": influences,
            "results": [_section(result) for result in results],
            "apart": apart,
            "says": said(p, q, evidence, where) if evidence is not None and isinstance(where, Tree) else None,
            "missing": missing,
            "methods": methods(ways[0]["comparison"]),
            "promises": promises(ways[0]["comparison"]),
            "plus_minus": apart is not None or any(is_estimate(one["result"]) for one in methods(comparison)),
            "models": [_described(model, name) for model, name in zip((p, q), names, strict=True)],
            "versions": versions(),
            "has_data": evidence is not None,
            "result": data,
            "view": _view(names, ways, influences),
        },
        json_name,
    )


def _shown_reading(p: Model, reading: Reading, where: Any, evidence: Any, first: bool) -> dict[str, Any]:
    """Everything the page shows of the pair with q's states in one order; ids of the second reading have a prefix."""
    q, comparison = reading.q, reading.comparison
    prefix, names = "" if first else f"{reading.key}-", names_of(p, q)
    word = "level" if isinstance(where, Tree) and where.kind == "regular" else "group"
    parts = None if comparison.joint is None else comparison.joint.parts
    tables, left_out = ([], "") if parts is None else heat_tables(p, q, parts)
    dominant, weights = _dominant(p, q, parts)
    drawn, diagrams_left_out = diagrams(p, q, names, weights, dominant)
    chart, profiled = _profile(prefix, comparison, where)
    reasons = [] if parts is None else causes(p, q, parts, names, word)
    return {
        "key": reading.key, "prefix": prefix, "comparison": comparison,
        "infinite": infinite_quantities(p, comparison), "cards": cards(comparison), "answer": answer(comparison),
        "rows": part_rows(p, q, comparison.joint, None if parts is None else Pair.models(p, q).once(local_terms)),
        "causes": reasons, "notes": _notes(reading, reasons),
        "whole": 0.0 if parts is None else finite_whole(parts),
        "guilty": guilty(p, q, parts, names, word) if parts is not None and isinf(comparison.joint.value) else [],  # type: ignore[union-attr]
        "tables": tables, "tables_left_out": left_out, "word": word, "dominant": dominant,
        "diagrams": drawn, "diagrams_left_out": diagrams_left_out,
        "coloured": any(arrow["kind"] != "same" for one in drawn for arrow in one.arrows),
        "emissions": pictures(p, q, weights, dominant, matching(p, q)),
        "profile": chart, "profiled": profiled,
        "strip": strip(f"{prefix}strip", p, q, evidence, where)
        if evidence is not None and isinstance(where, Tree) and p.n_states == q.n_states else None,
    }  # fmt: skip


def _notes(reading: Reading, told: list[Cause]) -> list[str]:
    """What to know before the numbers; not the share of the initial law as labelled, or where a cause says it."""
    notes = list(reading.comparison.notes)
    if reading.key == "aligned" or any(cause.initial for cause in told):
        notes = [note for note in notes if "is the initial law" not in note]
    return notes


def _dominant(p: Model, q: Model, parts: Parts | None) -> tuple[int, Any]:
    """The group that adds most, and what each of its states adds."""
    if parts is None:
        first = int(np.argmax(p.has_transition)) if len(p.has_transition) == len(q.has_transition) else 0
        return first, np.ones(p.n_states)
    rows, states = np.atleast_2d(parts.rows), np.atleast_2d(parts.states)
    each = np.nan_to_num(rows, posinf=1e300) + np.nan_to_num(states, posinf=1e300)
    group = int(np.argmax(each.sum(axis=1)))
    return group, each[group]


def _profile(prefix: str, comparison: Comparison, tree: Any) -> tuple[BarChart | TreeChart | None, Divergence | None]:
    """The profile of the posterior divergence; without data, that of the joint one."""
    result = comparison.posterior if comparison.posterior is not None else comparison.joint
    if not isinstance(tree, Tree) or result is None or result.by_node is None or not np.isfinite(result.by_node).all():
        return None, None
    return node_chart(f"{prefix}profile", result.by_node, tree), result


def cards(comparison: Comparison) -> list[dict[str, Any]]:
    """The observed, the joint and the posterior divergence for the cards at the top, each with its status."""
    third = "posterior" if comparison.posterior is not None else "expected_posterior"
    shown = []
    for name in ("observed", "joint", third):
        result: Divergence | None = getattr(comparison, name)
        shown.append(
            {
                "name": in_words(name), "meaning": MEANINGS[name], "result": result,
                "why": comparison.undefined.get(name, "it is not defined here"),
                "per": None if result is None else result.per,
            }
        )  # fmt: skip
    return sorted(
        shown, key=lambda card: card["result"] is None or bool(card["result"].infinite)
    )  # what is finite first


def answer(comparison: Comparison) -> dict[str, Any]:
    """The numbers in the sentences at the top: factor of evidence, share of the joint divergence, whether equal."""
    joint, observed = comparison.joint, comparison.observed
    numbers: dict[str, Any] = {"decades": None, "share": None, "same": False}
    if observed is not None and not isinf(observed.value):
        numbers["decades"] = observed.value / log(10)
        numbers["same"] = observed.value <= 0 or (observed.lower is not None and observed.lower <= 0)
        if joint is not None:
            numbers["share"] = share(observed.value, joint.value)
    return numbers


def _is_chain(where: Tree | UntilEnd | None) -> TypeGuard[Tree]:
    """Whether what is seen is a sequence of known length."""
    return isinstance(where, Tree) and where.is_chain and where.n_nodes > 1


def _tree(tree: Any, evidence: Any) -> Tree | UntilEnd | None:
    """The tree the models are compared on, which evidence may imply."""
    if evidence is not None:
        return evidence_and_tree(evidence, tree)[1]
    return tree if isinstance(tree, UntilEnd) or tree is None else as_tree(tree)


def _unfinished(influences: list[dict[str, Any]], evidence: Any) -> list[str]:
    """The names of what an interrupt left out."""
    missing = ["influence of observations"] if evidence is not None and len(influences) < 2 else []
    return [*missing, "how many observations would tell them apart"]


def _influences(influences: list[dict[str, Any]], p: Model, q: Model, tree: Any, evidence: Any) -> None:
    """Fill in how much each observation changes what is known of the states, under p and under q."""
    if evidence is None or not isinstance(tree, Tree):
        return
    for side, model, name in zip("pq", (p, q), names_of(p, q), strict=True):
        values = influence(model, evidence, tree)
        order = np.argsort(-values, kind="stable")[:STRONGEST]
        influences.append(
            {
                "chart": node_chart(f"influence-{side}", values, tree), "side": side, "name": name,
                "values": values, "strongest": [(int(u), float(values[u])) for u in order if values[u] > 0],
            }
        )  # fmt: skip


def _data(
    p: Model, q: Model, comparison: Comparison, tree: Any, first: dict[str, Any], influences: list[dict[str, Any]],
    apart: Any, missing: list[str],
) -> dict[str, Any]:  # fmt: skip
    """The JSON for download, format "hidiv.report", version 1; the profile is that of the reading shown first."""
    profiled = first["profiled"]
    return {
        "format": "hidiv.report", "version": 1, "unit": "nats", "versions": versions(),
        "missing": missing,
        "comparison": comparison.to_dict(),
        "aligned": first["comparison"].to_dict() if first["key"] == "aligned" else None,
        "tree": listed_tree(tree),
        "models": [model.to_dict() for model in (p, q)],
        "profile": None if profiled is None else {"quantity": profiled.quantity, "by_node": plain(profiled.by_node)},
        "influence": [{"model": one["side"], "by_node": plain(one["values"])} for one in influences],
        "samples_to_tell_apart": None if apart is None else apart["data"],
    }  # fmt: skip


def listed_tree(tree: Any) -> Any:
    """A tree in the form of a file; the name of a special one, None if there is none."""
    return tree.to_dict() if isinstance(tree, Tree) else None if tree is None else repr(tree)


def _described(model: Model, name: str) -> dict[str, str]:
    """A model in a row of the table of models."""
    kinds = ", ".join(dict.fromkeys(family.name.replace("_", " ") for family in model.emissions))
    groups = f"{model.n_groups} groups" if model.n_groups > 1 else "one group"
    return {"name": name, "states": str(model.n_states), "emission": kinds, "groups": groups}


def _view(names: tuple[str, str], ways: list[dict[str, Any]], influences: list[dict[str, Any]]) -> dict[str, Any]:
    """What the script of the page needs."""
    drawings: list[Any] = [one["chart"] for one in influences]
    for way in ways:
        drawings += [way[key] for key in ("strip", "profile") if way[key] is not None]
    tables = [table.view() | {"word": way["word"]} for way in ways for table in way["tables"]]
    return {"names": list(names), "tables": tables, "charts": [chart.view() for chart in drawings]}


def part_rows(p: Model, q: Model, joint: Divergence | None, local: Local | None) -> dict[str, Any]:
    """The initial law, rows and states with their own divergence and what they add to the whole, the largest first."""
    if joint is None or joint.parts is None or local is None:
        return {"rows": [], "left_out": 0, "grouped": False}
    whole = finite_whole(joint.parts)
    rows: list[dict[str, Any]] = [_row("initial law", None, "", local.initial, joint.parts.initial, whole)]
    for kind, own, adds in (
        ("transition from", local.rows, np.atleast_2d(joint.parts.rows)),
        ("emission in", local.states, np.atleast_2d(joint.parts.states)),
    ):
        for (g, s), value in np.ndenumerate(adds):
            name = state_name(p, s)
            group = int(g) if len(adds) > 1 else None
            rows.append(_row(kind, group, name, float(own[min(g, len(own) - 1), s]), float(value), whole))
    rows.sort(key=lambda row: -row["adds"])
    grouped = any(row["group"] is not None for row in rows)
    return {"rows": rows[:MOST], "left_out": max(0, len(rows) - MOST), "grouped": grouped}


def _row(kind: str, group: int | None, state: str, own: float, adds: float, whole: float) -> dict[str, Any]:
    """One row as the template reads it."""
    return {"kind": kind, "group": group, "state": state, "own": own, "adds": adds, "share": share(adds, whole)}


def _section(result: Any) -> dict[str, str]:
    """A result as the key, the heading and the words of its section."""
    kind = type(result).__name__
    if kind not in QUESTIONS or not type(result).__module__.startswith("hidiv."):
        refuse(HidivError, "results", f"a page has sections for a {', a '.join(QUESTIONS)}", kind)
    words = repr(result)
    if kind in ("Choice", "FitResult"):
        words = f"{words}\n{result.summary()}" if kind == "Choice" else result.summary()
    return {"key": kind.lower(), "title": QUESTIONS[kind], "words": words}
