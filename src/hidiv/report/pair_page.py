"""The page about two models."""

from __future__ import annotations

from collections.abc import Callable
from math import isinf, log
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.divergences.compare import INTERRUPTED, compare
from hidiv.divergences.comparison import Comparison
from hidiv.divergences.joint.local_terms import local_terms
from hidiv.divergences.pair import Pair, tree_in_words
from hidiv.divergences.quantities import MEANINGS, in_words
from hidiv.divergences.result import Divergence, plain
from hidiv.inference.influence import influence
from hidiv.inference.rows import evidence_and_tree
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Progress
from hidiv.report.charts import Chart, TreeChart, node_chart
from hidiv.report.heat_tables import HeatTable, heat_tables, share
from hidiv.report.page import Page, render
from hidiv.report.part_rows import part_rows
from hidiv.report.provenance import versions
from hidiv.report.told_apart import told_apart

STRONGEST = 10  # observations named


def pair_page(
    p: Any, q: Any, tree: Any = None, *, evidence: Any = None, seed: int = 0, beside: str = "report.json",
    stopped: Callable[[], bool] = lambda: False,
) -> Page:  # fmt: skip
    """One self-contained HTML page: how p and q differ, where, along which data, and how that was computed.

    An interrupt, or `stopped` after one that a computation made do with, leaves out what is not begun.
    Its JSON is for download from the page, or, where that would be over a megabyte, from the file `beside` it.
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
            apart = told_apart(p, q, found, where, progress)
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
    """The three numbers that matter, each with its standing."""
    third = "posterior" if found.posterior is not None else "expected_posterior"
    made = []
    for name in ("observed", "joint", third):
        result: Divergence | None = getattr(found, name)
        made.append(
            {
                "name": in_words(name), "meaning": MEANINGS[name], "result": result,
                "why": found.undefined.get(name, "it is not defined here"),
                "per": None if result is None else result.per,
            }
        )  # fmt: skip
    return made


def answer(found: Comparison) -> dict[str, Any]:
    """What the words at the top are made of."""
    joint, observed = found.joint, found.observed
    said: dict[str, Any] = {"decades": None, "share": None, "same": False}
    if observed is not None and not isinf(observed.value):
        said["decades"] = observed.value / log(10)
        said["same"] = observed.value <= 0 or (observed.lower is not None and observed.lower <= 0)
        if joint is not None:
            said["share"] = share(observed.value, joint.value)
    return said


def alignment_rows(p: Model, q: Model, found: Comparison) -> list[tuple[str, str, bool]]:
    """Which state of q goes with which of p, and whether it is another than the labels say."""
    if found.alignment is None:
        return []
    order = found.alignment.permutation
    return [(_state(p, s), _state(q, t), s != t) for s, t in enumerate(order)]


def methods(found: Comparison) -> list[dict[str, Any]]:
    """Every quantity with how it was computed."""
    named = [(in_words(name), getattr(found, name)) for name in MEANINGS]
    named += [(f"{in_words(name)} rate", found.rates[name]) for name in found.rates]
    return [
        {"name": name, "result": result, "how": [*result.notes, *_certificate(result)]}
        for name, result in named
        if result is not None
    ]


def _certificate(result: Divergence) -> list[str]:
    """The names of the methods a certificate rests on; its numbers are in the JSON."""
    found: list[str] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            if isinstance(part.get("method"), str):
                found.append(part["method"])
            for inner in part.values():
                walk(inner)

    walk(result.certificate)
    return [f"certified by {', '.join(dict.fromkeys(found))}"] if found else []


def _tree(tree: Any, evidence: Any) -> Tree | UntilEnd | None:
    if evidence is not None:
        return evidence_and_tree(evidence, tree)[1]
    return tree if isinstance(tree, UntilEnd) or tree is None else as_tree(tree)


def _unfinished(charts: dict[str, Any], evidence: Any) -> list[str]:
    """What an interrupt left out."""
    lacks = ["influence of observations"] if evidence is not None and len(charts["influence"]) < 2 else []
    return [*lacks, "how many observations would tell them apart"]


def _charts(charts: dict[str, Any], p: Model, q: Model, found: Comparison, tree: Any, evidence: Any) -> None:
    """The profile of the posterior divergence and influences where there are data, of the joint one else."""
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
    """The JSON to download: format "hidiv.report", version 1."""
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
    """A tree as a file holds it."""
    return tree.to_dict() if isinstance(tree, Tree) else None if tree is None else repr(tree)


def _described(model: Model, name: str) -> dict[str, str]:
    kinds = ", ".join(dict.fromkeys(family.name.replace("_", " ") for family in model.emissions))
    groups = f"{model.n_groups} groups" if model.n_groups > 1 else "one group"
    return {"name": name, "states": str(model.n_states), "emission": kinds, "groups": groups}


def _state(model: Model, s: int) -> str:
    return f"state {s}" if model.state_names is None else model.state_names[s]


def _names(p: Model, q: Model) -> tuple[str, str]:
    return p.name or "p", q.name or "q"


def _view(names: tuple[str, str], tables: list[HeatTable], charts: dict[str, Any]) -> dict[str, Any]:
    drawings: list[Chart | TreeChart] = [one["chart"] for one in charts["influence"]]
    if charts["profile"] is not None:
        drawings.append(charts["profile"])
    return {"names": list(names), "tables": [table.view() for table in tables], "charts": [c.view() for c in drawings]}
