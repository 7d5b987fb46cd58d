"""The page about many models: all pairs, a dendrogram, a map, nearest neighbours."""

from __future__ import annotations

from math import ceil
from typing import Any, Literal

import numpy as np

from hidiv.comparison.clustering.cluster import Clusters, cluster
from hidiv.comparison.clustering.embed import embed
from hidiv.comparison.pairwise.kl import pairwise_kl
from hidiv.comparison.pairwise.matrix import PairwiseMatrix
from hidiv.divergences.pair import tree_in_words
from hidiv.divergences.result import plain
from hidiv.errors import HidivError, refuse
from hidiv.models.tree import as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Progress
from hidiv.report.dendrograms import dendrogram
from hidiv.report.page import Page, render, short
from hidiv.report.pair_page import listed_tree
from hidiv.report.png import data_address
from hidiv.report.provenance import versions
from hidiv.types import Array

FEWEST, MOST = 3, 1000  # models of a page
IN_A_TABLE = 40  # models; a larger matrix is a picture
NAMED = 60  # models whose names stand on the map
NEIGHBOURS, OF_MANY = 5, 3  # listed for each model, and for each of more than MANY
MANY = 300
SHOWN = 4  # digits of a pair that is pointed at
POINTED_AT = 450  # models; the pairs of more do not fit even so
SHADES = 10
MAP = 720.0, 440.0
MARGIN = 70.0  # beside the outermost points, for their names
PALETTE = [
    tuple(round(a + (b - a) * i / 255) for a, b in zip((245, 249, 254), (8, 48, 107), strict=True)) for i in range(256)
]


def collection_page(
    models: Any,
    tree: Any,
    *,
    names: list[str] | None = None,
    quantity: Literal["joint", "aligned", "observed"] = "joint",
    beside: str = "report.json",
) -> Page:
    """One self-contained HTML page about all pairs of these models on a tree.

    An interrupt leaves the first models, those whose pairs are all there, if they are as many as a page needs.
    Its JSON is for download from the page, or, where that would be over a megabyte, from the file `beside` it.
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
    called = names if names is not None else [name or f"model {i}" for i, name in enumerate(matrix.names)]
    there, missing = _finished(matrix), []
    if there < len(called):
        if there < FEWEST:
            raise KeyboardInterrupt
        missing = [f"the pairs of {len(called) - there} more models"]
        called = called[:there]
    values = np.asarray(matrix)[:there, :there]
    groups = cluster(values)
    assert groups.linkage is not None
    drawn = dendrogram(groups.linkage, called)
    points = embed(values)
    return render(
        "collection.html.j2",
        {
            "title": f"{len(called)} models",
            "names": called,
            "about": tree_in_words(where),
            "matrix": matrix,
            "missing": missing,
            "about_labels": next((note for note in matrix.notes if "separate fits" in note), None),
            "summary": summary(values, called),
            "clusters": groups,
            "cells": cells(values, drawn.order) if len(called) <= IN_A_TABLE else None,
            "order": drawn.order,
            "values": values,
            "picture": None if len(called) <= IN_A_TABLE else picture(values, drawn.order),
            "dendrogram": drawn,
            "map": placed(points, called, groups),
            "neighbours": neighbours(values, called, groups),
            "versions": versions(),
            "result": _data(matrix, values, where, called, groups, points, missing),
            "view": _view(called, drawn.order, groups),
        },
        beside,
        {"matrix": short(values, SHOWN)} if len(called) <= POINTED_AT else None,
    )


def _finished(matrix: PairwiseMatrix) -> int:
    """How many of the first models have all their pairs."""
    if matrix.finished is None:
        return len(matrix.names)
    return next(n for n in range(len(matrix.names), -1, -1) if matrix.finished[:n, :n].all())


def summary(values: Array, names: list[str]) -> dict[str, Any]:
    """The nearest, the middle and the furthest pair, and how many are infinite."""
    count = len(names) * (len(names) - 1)
    first, second = np.nonzero(np.isfinite(values) & ~np.eye(len(names), dtype=bool))
    held = values[first, second]
    order = np.argsort(held, kind="stable")
    chosen = {"nearest": order[:1], "median": order[len(order) // 2 :][:1], "furthest": order[-1:]}
    return {
        "pairs": [
            {"word": word, "value": float(held[k]), "p": names[first[k]], "q": names[second[k]]}
            for word, at in chosen.items()
            for k in at
        ],
        "infinite": count - len(held),
        "n": count,
    }


def shades(values: Array) -> Array:
    """0..1 by the square root, which spreads small divergences; infinite ones are darkest."""
    finite = values[np.isfinite(values)]
    top = float(finite.max(initial=0.0)) or 1.0
    return np.asarray(np.sqrt(np.where(np.isfinite(values), np.clip(values, 0, None), top) / top))


def cells(values: Array, order: list[int]) -> list[list[int]]:
    """Shades 0..10 in the order of the dendrogram."""
    table = shades(values)[np.ix_(order, order)]
    return [[ceil(SHADES * float(v) - 1e-9) for v in row] for row in table]


def picture(values: Array, order: list[int]) -> str:
    """The same as a picture, one pixel a pair; few enough shades that a large one stays small."""
    levels = 63 if len(values) <= MANY else 31
    table = np.round(levels * shades(values)[np.ix_(order, order)]) / levels
    return data_address(np.round(255 * table).astype(np.uint8), PALETTE)  # type: ignore[arg-type]


def placed(points: Array, names: list[str], groups: Clusters) -> tuple[list[dict[str, Any]], float]:
    """The map in the coordinates of its SVG, both axes alike, and its height; a name that finds no room is left out."""
    flat = np.column_stack([points, np.zeros((len(points), max(0, 2 - points.shape[1])))])
    low, high = flat.min(axis=0), flat.max(axis=0)
    span = high - low
    room = MAP[0] - 2 * MARGIN, MAP[1] - 60
    scale = min((room[axis] / span[axis] for axis in range(2) if span[axis] > 0), default=1.0)
    height = scale * span[1] + 60
    x = MAP[0] / 2 + scale * (flat[:, 0] - (low + high)[0] / 2)
    y = height / 2 - scale * (flat[:, 1] - (low + high)[1] / 2)
    made = [
        {
            "x": round(float(a), 1),
            "y": round(float(b), 1),
            "cluster": int(label),
            "name": "",
            "anchor": "start",
            "tx": 0,
            "ty": 0,
        }
        for a, b, label in zip(x, y, groups.labels, strict=True)
    ]
    if len(names) <= NAMED:
        _name(made, names)
    return made, round(float(height), 1)


def _name(made: list[dict[str, Any]], names: list[str]) -> None:
    """Names to the right of their points, or left, above or below, where nothing is in the way."""
    taken = [(p["x"] - 9, p["y"] - 9, p["x"] + 9, p["y"] + 9) for p in made]
    for point, name in zip(made, names, strict=True):
        said = name if len(name) <= 16 else name[:15] + "…"
        wide = 7.2 * len(said)
        x, y = point["x"], point["y"]
        for anchor, tx, ty in (
            ("start", x + 13, y + 4),
            ("end", x - 13, y + 4),
            ("middle", x, y - 14),
            ("middle", x, y + 22),
        ):
            left = tx - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            box = (left, ty - 11, left + wide, ty + 3)
            free = not any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken)
            if free and box[0] >= 0 and box[2] <= MAP[0]:
                point |= {"name": said, "anchor": anchor, "tx": round(tx, 1), "ty": round(ty, 1)}
                taken.append(box)
                break


def neighbours(values: Array, names: list[str], groups: Clusters) -> list[dict[str, Any]]:
    """For each model those with the smallest D(model || other)."""
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
    """The JSON to download: format "hidiv.collection_report", version 1."""
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
    said = [f"cluster {label}" for label in groups.labels.tolist()]
    return {
        "names": names,
        "tables": [],
        "matrix": {"names": names, "order": order},
        "charts": [{"id": "map", "word": "model", "form": "tree", "names": names, "values": said}],
    }
