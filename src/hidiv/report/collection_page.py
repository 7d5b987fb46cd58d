"""The page about many models: all pairs, a dendrogram, a map, and nearest neighbours."""

from __future__ import annotations

from itertools import groupby
from math import isinf
from typing import Any, Literal

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.comparison.clustering.cluster import Clusters, cluster
from hidiv.comparison.clustering.embed import embed
from hidiv.comparison.pairwise.kl import pairwise_kl
from hidiv.comparison.pairwise.matrix import PairwiseMatrix
from hidiv.divergences.joint.kl import joint_kl
from hidiv.divergences.pair import tree_in_words
from hidiv.divergences.result import plain
from hidiv.errors import HidivError, refuse
from hidiv.models.tree import as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Progress
from hidiv.report.causes import causes, finite_whole, guilty
from hidiv.report.collection_pictures import cells, dendrogram, is_wide, picture, placed
from hidiv.report.page import Page, render, short, versions
from hidiv.report.pair_page import listed_tree
from hidiv.types import Array

FEWEST, MOST = 3, 1000  # models on a page
IN_A_TABLE = 40  # models; a larger matrix is shown as a picture
PRINTED = 60  # models of which all pairs are listed on paper
NEIGHBOURS, OF_MANY = 5, 3  # neighbours listed for each model; the second number if there are more than MANY models
MANY = 300
DIGITS = 4  # of a pair the reader points at
POINTED_AT = 450  # models; the pairs of more do not fit on the page even with few digits
EXPLAINED = 20  # models; the pairs of more would take long, and their numbers are on the page anyway
TOLD = 3  # causes of a pair


def collection_page(
    models: Any,
    tree: Any,
    *,
    names: list[str] | None = None,
    quantity: Literal["joint", "aligned", "observed"] = "joint",
    json_name: str = "report.json",
) -> Page:
    """One self-contained HTML page about all pairs of these models on a tree.

    After an interrupt the page covers the first models, those whose pairs are all computed, if they are enough for a
    page. Its JSON can be downloaded from the page; if the page would exceed a megabyte, the JSON goes into the file
    `json_name` next to it.
    """
    if not FEWEST <= len(models) <= MOST:
        refuse(HidivError, "models", f"a page about a collection has {FEWEST} to {MOST} models", len(models))
    with Progress("all pairs") as progress:
        matrix = pairwise_kl(
            models,
            tree,
            quantity=quantity,
            progress=lambda done, total: progress.show(done / total, f"{done} of {total} blocks"),
            keep_finished=True,
        )
    where = tree if isinstance(tree, UntilEnd) else as_tree(tree)
    labels = names if names is not None else [name or f"model {i}" for i, name in enumerate(matrix.names)]
    finished, missing = _finished(matrix), []
    if finished < len(labels):
        if finished < FEWEST:
            raise KeyboardInterrupt
        missing = [f"the pairs of {len(labels) - finished} more models"]
        labels = labels[:finished]
    values = np.asarray(matrix)[:finished, :finished]
    groups = cluster(values)
    assert groups.linkage is not None
    drawn = dendrogram(groups.linkage, labels)
    points = embed(values)
    sentences = _pairs_in_words(models, where, labels)
    return render(
        "collection.html.j2",
        {
            "title": f"{len(labels)} models",
            "names": labels,
            "about": tree_in_words(where),
            "matrix": matrix,
            "missing": missing,
            "about_labels": next((note for note in matrix.notes if "separate fits" in note), None),
            "summary": summary(values, labels),
            "clusters": groups,
            "logarithmic": is_wide(values),
            "cells": cells(values, drawn.order) if len(labels) <= IN_A_TABLE else None,
            "order": drawn.order,
            "values": values,
            "picture": None if len(labels) <= IN_A_TABLE else picture(values, drawn.order),
            "runs": runs(groups.labels[drawn.order].tolist()),
            "dendrogram": drawn,
            "map": placed(points, labels, groups),
            "neighbours": neighbours(values, labels, groups),
            "versions": versions(),
            "result": _data(matrix, values, where, labels, groups, points, missing),
            "view": _view(labels, drawn.order, groups) | {"pairs": sentences, "status": matrix.status},
            "print_list": len(labels) <= PRINTED,
        },
        json_name,
        {"matrix": short(values, DIGITS)} if len(labels) <= POINTED_AT else None,
    )


def _finished(matrix: PairwiseMatrix) -> int:
    """The largest n for which all pairs of the first n models are computed."""
    if matrix.finished is None:
        return len(matrix.names)
    return next(n for n in range(len(matrix.names), -1, -1) if matrix.finished[:n, :n].all())


def summary(values: Array, names: list[str]) -> dict[str, Any]:
    """The nearest, the median and the furthest pair, and how many divergences are infinite."""
    count = len(names) * (len(names) - 1)
    first, second = np.nonzero(np.isfinite(values) & ~np.eye(len(names), dtype=bool))
    finite = values[first, second]
    order = np.argsort(finite, kind="stable")
    chosen = {"nearest": order[:1], "median": order[len(order) // 2 :][:1], "furthest": order[-1:]}
    return {
        "pairs": [
            {"word": word, "value": float(finite[k]), "p": names[first[k]], "q": names[second[k]]}
            for word, places in chosen.items()
            for k in places
        ],
        "infinite": count - len(finite),
        "n": count,
    }


def runs(labels: list[int]) -> list[dict[str, int]]:
    """Neighbours in the matrix that are of one cluster: which, where they start, and how many.

    >>> runs([2, 2, 0])
    [{'cluster': 2, 'start': 0, 'n': 2}, {'cluster': 0, 'start': 2, 'n': 1}]
    """
    found, start = [], 0
    for label, same in groupby(labels):
        count = len(list(same))
        found.append({"cluster": label, "start": start, "n": count})
        start += count
    return found


def neighbours(values: Array, names: list[str], groups: Clusters) -> list[dict[str, Any]]:
    """For each model the others with the smallest D(model || other)."""
    rows = []
    listed = NEIGHBOURS if len(names) <= MANY else OF_MANY
    for i, row in enumerate(values):
        order = [int(j) for j in np.argsort(row, kind="stable") if j != i][:listed]
        near = [(names[j], float(row[j])) for j in order]
        rows.append({"name": names[i], "cluster": int(groups.labels[i]), "near": near, "medoid": i in groups.medoids})
    return rows


def _data(
    matrix: PairwiseMatrix,
    values: Array,
    tree: Any,
    names: list[str],
    groups: Clusters,
    points: Array,
    missing: list[str],
) -> dict[str, Any]:
    """The JSON for download, format "hidiv.collection_report", version 1."""
    return {
        "format": "hidiv.collection_report", "version": 1, "unit": "nats", "versions": versions(),
        "tree": listed_tree(tree),
        "names": names,
        "missing": missing,
        "quantity": matrix.quantity, "status": matrix.status, "notes": list(matrix.notes),
        "matrix": plain(values),
        "clusters": {
            "labels": groups.labels.tolist(), "medoids": groups.medoids.tolist(), "silhouette": groups.silhouette,
            "method": groups.method, "linkage": plain(groups.linkage),
        },
        "map": plain(points),
    }  # fmt: skip


def _view(names: list[str], order: list[int], groups: Clusters) -> dict[str, Any]:
    """What the script of the page needs."""
    clusters = [f"cluster {label}" for label in groups.labels.tolist()]
    return {
        "names": names,
        "tables": [],
        "matrix": {"names": names, "order": order},
        "charts": [{"id": "map", "word": "model", "form": "tree", "names": names, "values": clusters}],
    }


def _pairs_in_words(models: Any, tree: Any, names: list[str]) -> dict[str, Any]:
    """By "i,j" the initial, transition and emission part of the joint divergence as labelled, and its causes."""
    if len(names) > EXPLAINED:
        return {}
    known = [as_model(models[i]) for i in range(len(names))]
    told: dict[str, Any] = {}
    for i, p in enumerate(known):
        for j, q in enumerate(known):
            if i == j or p.n_states != q.n_states:
                continue
            try:
                joint = joint_kl(p, q, tree)
            except HidivError:
                continue
            parts = joint.parts
            if parts is None:
                continue
            both = names[i], names[j]
            cells = guilty(p, q, parts, both)[:TOLD] if isinf(joint.value) else []
            told[f"{i},{j}"] = {
                "joint": short(joint.value, 5),
                "parts": short([parts.initial, parts.transition, parts.emission], 4),
                "whole": short(finite_whole(parts), 4),
                "impossible": cells,
                "causes": [[one.words, short(one.adds, 3), one.place] for one in causes(p, q, parts, both)[:TOLD]],
            }
    return told
