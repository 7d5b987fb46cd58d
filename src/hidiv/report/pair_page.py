"""The page about two models."""

from __future__ import annotations

from collections.abc import Callable
from math import isinf, log
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.divergences.compare import INTERRUPTED, compare
from hidiv.divergences.comparison import Comparison
from hidiv.divergences.joint.local_terms import Local, local_terms
from hidiv.divergences.pair import Pair, tree_in_words
from hidiv.divergences.quantities import MEANINGS, in_words
from hidiv.divergences.result import Divergence, plain
from hidiv.inference.influence import influence
from hidiv.inference.rows import evidence_and_tree
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Progress
from hidiv.report.charts import BarChart, TreeChart, node_chart
from hidiv.report.heat_tables import HeatTable, heat_tables, share
from hidiv.report.page import Page, render, versions
from hidiv.report.samples_needed import samples_needed

STRONGEST = 10  # observations that are named
MOST = 400  # rows; of more, the largest are shown


def pair_page(
    p: Any, q: Any, tree: Any = None, *, evidence: Any = None, seed: int = 0, beside: str = "report.json",
    stopped: Callable[[], bool] = lambda: False,
) -> Page:  # fmt: skip
    """One self-contained HTML page: how p and q differ, where, along which data, and how that was computed.

    After an interrupt the page has what is finished; `stopped` tells whether one came while a computation went on with
    what it had. The JSON can be downloaded from the page; if the page would exceed a megabyte, the JSON goes into the
    file `beside` it.
    """
    p, q = as_models(p, q)
    found = compare(p, q, tree, evidence=evidence, seed=seed)
    where = _tree(tree, evidence)
    tables, left_out = (
        ([], "") if found.joint is None or found.joint.parts is None else heat_tables(p, q, found.joint.parts)
    )
    missing = [in_words(name) for name, why in found.undefined.items() if why == INTERRUPTED]
    charts: dict[str, Any] = {"profile": None, "profiled": None, "influence": []}
    apart = None
    try:
        _charts(charts, p, q, found, where, evidence)
        if stopped():
            raise KeyboardInterrupt
        with Progress("telling them apart") as progress:
            apart = samples_needed(p, q, found, where, progress)
    except KeyboardInterrupt:  # the page of what is finished
        missing += _unfinished(charts, evidence)
    data = _data(p, q, found, where, charts, apart, missing)
    names = _names(p, q)
    return render(
        "pair.html.j2",
        {
            "title": f"{names[0]} against {names[1]}",
            "names": names,
            "about": "" if where is None else tree_in_words(where),
            "found": found,
            "cards": cards(found),
            "answer": answer(found),
            "rows": part_rows(
                p, q, found.joint, Pair.models(p, q).once(local_terms) if found.joint is not None else None
            ),
            "tables": tables,
            "tables_left_out": left_out,
            "charts": charts,
            "apart": apart,
            "missing": missing,
            "alignment": alignment_rows(p, q, found),
            "methods": methods(found),
            "models": [_described(model, name) for model, name in zip((p, q), names, strict=True)],
            "versions": versions(),
            "has_data": evidence is not None,
            "result": data,
            "view": _view(names, tables, charts),
        },
        beside,
    )


def cards(found: Comparison) -> list[dict[str, Any]]:
    """The observed, the joint and the posterior divergence for the cards at the top, each with its status."""
    third = "posterior" if found.posterior is not None else "expected_posterior"
    shown = []
    for name in ("observed", "joint", third):
        result: Divergence | None = getattr(found, name)
        shown.append(
            {
                "name": in_words(name), "meaning": MEANINGS[name], "result": result,
                "why": found.undefined.get(name, "it is not defined here"),
                "per": None if result is None else result.per,
            }
        )  # fmt: skip
    return shown


def answer(found: Comparison) -> dict[str, Any]:
    """The numbers in the sentences at the top: factor of evidence, share of the joint divergence, whether equal."""
    joint, observed = found.joint, found.observed
    numbers: dict[str, Any] = {"decades": None, "share": None, "same": False}
    if observed is not None and not isinf(observed.value):
        numbers["decades"] = observed.value / log(10)
        numbers["same"] = observed.value <= 0 or (observed.lower is not None and observed.lower <= 0)
        if joint is not None:
            numbers["share"] = share(observed.value, joint.value)
    return numbers


def alignment_rows(p: Model, q: Model, found: Comparison) -> list[tuple[str, str, bool]]:
    """Which state of q is paired with which of p, and whether the labels say otherwise."""
    if found.alignment is None:
        return []
    order = found.alignment.permutation
    return [(_state(p, s), _state(q, t), s != t) for s, t in enumerate(order)]


def methods(found: Comparison) -> list[dict[str, Any]]:
    """Every quantity and how it was computed."""
    named = [(in_words(name), getattr(found, name)) for name in MEANINGS]
    named += [(f"{in_words(name)} rate", found.rates[name]) for name in found.rates]
    return [
        {"name": name, "result": result, "how": [*result.notes, *_certificate(result)]}
        for name, result in named
        if result is not None
    ]


def _certificate(result: Divergence) -> list[str]:
    """A sentence with the methods a certificate rests on; its numbers are in the JSON."""
    methods: list[str] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            if isinstance(part.get("method"), str):
                methods.append(part["method"])
            for inner in part.values():
                walk(inner)

    walk(result.certificate)
    return [f"certified by {', '.join(dict.fromkeys(methods))}"] if methods else []


def _tree(tree: Any, evidence: Any) -> Tree | UntilEnd | None:
    """The tree the models are compared on, which evidence may imply."""
    if evidence is not None:
        return evidence_and_tree(evidence, tree)[1]
    return tree if isinstance(tree, UntilEnd) or tree is None else as_tree(tree)


def _unfinished(charts: dict[str, Any], evidence: Any) -> list[str]:
    """The names of what an interrupt left out."""
    missing = ["influence of observations"] if evidence is not None and len(charts["influence"]) < 2 else []
    return [*missing, "how many observations would tell them apart"]


def _charts(charts: dict[str, Any], p: Model, q: Model, found: Comparison, tree: Any, evidence: Any) -> None:
    """Fill in the profile of the posterior divergence and the influences; without data, that of the joint one."""
    if not isinstance(tree, Tree):
        return
    result = found.posterior if found.posterior is not None else found.joint
    if result is not None and result.by_node is not None and np.isfinite(result.by_node).all():
        charts |= {"profile": node_chart("profile", result.by_node, tree), "profiled": result}
    if evidence is not None:
        for side, model in (("p", p), ("q", q)):
            values = influence(model, evidence, tree)
            order = np.argsort(-values, kind="stable")[:STRONGEST]
            charts["influence"].append(
                {
                    "chart": node_chart(f"influence-{side}", values, tree), "side": side,
                    "name": _names(p, q)[side == "q"],
                    "values": values, "strongest": [(int(u), float(values[u])) for u in order if values[u] > 0],
                }
            )  # fmt: skip


def _data(
    p: Model, q: Model, found: Comparison, tree: Any, charts: dict[str, Any], apart: Any, missing: list[str]
) -> dict[str, Any]:
    """The JSON for download, format "hidiv.report", version 1."""
    profile = None if charts["profiled"] is None else charts["profiled"].by_node
    return {
        "format": "hidiv.report", "version": 1, "unit": "nats", "versions": versions(),
        "missing": missing,
        "comparison": found.to_dict(),
        "tree": listed_tree(tree),
        "models": [model.to_dict() for model in (p, q)],
        "profile": None if profile is None else {"quantity": charts["profiled"].quantity, "by_node": plain(profile)},
        "influence": [{"model": one["side"], "by_node": plain(one["values"])} for one in charts["influence"]],
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


def _state(model: Model, s: int) -> str:
    """The name of a state."""
    return f"state {s}" if model.state_names is None else model.state_names[s]


def _names(p: Model, q: Model) -> tuple[str, str]:
    """The names of the models, "p" and "q" if they have none."""
    return p.name or "p", q.name or "q"


def _view(names: tuple[str, str], tables: list[HeatTable], charts: dict[str, Any]) -> dict[str, Any]:
    """What the script of the page needs."""
    drawings: list[BarChart | TreeChart] = [one["chart"] for one in charts["influence"]]
    if charts["profile"] is not None:
        drawings.append(charts["profile"])
    return {"names": list(names), "tables": [table.view() for table in tables], "charts": [c.view() for c in drawings]}


def part_rows(p: Model, q: Model, joint: Divergence | None, local: Local | None) -> dict[str, Any]:
    """The initial law, rows and states with their own divergence and what they add to the whole, the largest first."""
    if joint is None or joint.parts is None or local is None:
        return {"rows": [], "left_out": 0, "grouped": False}
    rows: list[dict[str, Any]] = [_row("initial law", None, "", local.initial, joint.parts.initial, joint.value)]
    for kind, own, adds in (
        ("transition from", local.rows, np.atleast_2d(joint.parts.rows)),
        ("emission in", local.states, np.atleast_2d(joint.parts.states)),
    ):
        for (g, s), value in np.ndenumerate(adds):
            name = f"state {s}" if p.state_names is None else p.state_names[s]
            group = int(g) if len(adds) > 1 else None
            rows.append(_row(kind, group, name, float(own[min(g, len(own) - 1), s]), float(value), joint.value))
    rows.sort(key=lambda row: -row["adds"])
    grouped = any(row["group"] is not None for row in rows)
    return {"rows": rows[:MOST], "left_out": max(0, len(rows) - MOST), "grouped": grouped}


def _row(kind: str, group: int | None, state: str, own: float, adds: float, whole: float) -> dict[str, Any]:
    """One row as the template reads it."""
    return {"kind": kind, "group": group, "state": state, "own": own, "adds": adds, "share": share(adds, whole)}
