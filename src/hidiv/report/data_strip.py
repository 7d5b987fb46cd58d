"""What data say about two models, and a strip of them: the observations, and the states each model decodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hidiv.inference.decoding import viterbi
from hidiv.inference.likelihood import log_likelihood
from hidiv.inference.rows import evidence_and_tree
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.plots.emission_curves import column_name
from hidiv.report.charts import WIDTH
from hidiv.report.digits import shown
from hidiv.report.state_names import names_of, state_name
from hidiv.types import Array, IntArray

CELLS = 720  # of a band; with more nodes, each cell shows the state that holds most of its nodes
LINES = 4  # columns of observations that are drawn
BAND, LINE = 20.0, 56.0  # heights
UNDECIDED = 1.0  # nats: the data favour neither model clearly
HUES = 8


@dataclass(frozen=True, eq=False)
class Strip:
    """Observations as points or lines, and two bands of colour; `texts` reads out every cell."""

    id: str
    lines: list[dict[str, Any]]
    bands: list[dict[str, Any]]
    legend: list[tuple[int, str]]
    texts: list[str]
    differ: int  # nodes where the decoded states differ
    n: int
    height: float
    form: str = "strip"

    def view(self) -> dict[str, Any]:
        """What the script of the page needs."""
        return {"id": self.id, "word": "node", "values": [0] * len(self.texts), "texts": self.texts, "form": self.form}


def said(p: Model, q: Model, evidence: Any, tree: Tree) -> dict[str, Any]:
    """Both log-likelihoods, and which model the data favour."""
    of_p, of_q = (log_likelihood(model, evidence, tree) for model in (p, q))
    more = of_p - of_q
    names = names_of(p, q)
    return {
        "p": of_p, "q": of_q, "more": abs(more), "favoured": names[more < 0], "other": names[more >= 0],
        "undecided": abs(more) < UNDECIDED, "decades": abs(more) / np.log(10),
    }  # fmt: skip


def strip(name: str, p: Model, q: Model, evidence: Any, tree: Tree) -> Strip | None:
    """The strip of data along a chain; None on other trees. The states of q are called as those of p."""
    if not tree.is_chain:
        return None
    known, _ = evidence_and_tree(evidence, tree)
    paths = [viterbi(model, evidence, tree)[0] for model in (p, q)]
    n = tree.n_nodes
    starts = np.linspace(0, n, min(n, CELLS) + 1).astype(np.int64)[:-1]
    lines = _lines(p, known, n)
    top = 8.0 + sum(LINE + 8 for _ in lines)
    bands = []
    cells = [_held(path, starts, n) for path in paths]
    for side, label, held in zip("pq", names_of(p, q), cells, strict=True):
        bands.append({"side": side, "label": label, "y": top, "runs": _runs(held)})
        top += BAND + 5
    for i, line in enumerate(lines):
        line["y"] = 4.0 + i * (LINE + 8)
    used = sorted(set(np.concatenate(paths).tolist()))
    return Strip(
        name, lines, bands, [(s % HUES, state_name(p, s)) for s in used], _texts(p, q, known, cells, starts, n),
        int((paths[0] != paths[1]).sum()), n, top,
    )  # fmt: skip


def _held(path: IntArray, starts: IntArray, n: int) -> list[int]:
    """The state of each cell, the one that holds most of its nodes."""
    if len(starts) == n:
        return [int(s) for s in path]
    return [int(np.bincount(part).argmax()) for part in np.split(path, starts[1:])]


def _runs(held: list[int]) -> list[dict[str, Any]]:
    """Stretches of one state as x, width and hue."""
    step = WIDTH / len(held)
    runs: list[dict[str, Any]] = []
    begin = 0
    for i in range(1, len(held) + 1):
        if i == len(held) or held[i] != held[begin]:
            runs.append({"x": round(begin * step, 2), "w": round((i - begin) * step, 2), "hue": held[begin] % HUES})
            begin = i
    return runs


def _lines(p: Model, known: Evidence, n: int) -> list[dict[str, Any]]:
    """Each column of the observations as points, or as a line where there are many."""
    drawn = []
    x = known.x
    for f in range(min(x.shape[1], LINES)):
        values = x[:, f]
        seen = np.flatnonzero(np.isfinite(values))
        if not len(seen):
            continue
        low, high = float(values[seen].min()), float(values[seen].max())
        at = WIDTH * (seen + 0.5) / n
        y = LINE * (1 - (values[seen] - low) / ((high - low) or 1.0))
        if len(seen) <= CELLS:
            size = max(0.7, min(2.4, 0.3 * WIDTH / n))
            path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(at, y, strict=True))
            drawn.append({"path": path, "size": round(2 * size, 1), "points": True})
        else:  # the range of each cell
            cells = np.minimum((seen * CELLS // n), CELLS - 1)
            path = ""
            for c in np.unique(cells):
                some = y[cells == c]
                path += f"M{c + 0.5:.1f} {some.max():.1f}V{some.min():.1f}"
            drawn.append({"path": path, "size": 1.0, "points": False})
        names = None if p.symbol_names is None else p.symbol_names[f]
        ends = [names[int(v)] if names is not None else shown(v, 3) for v in (low, high)]
        drawn[-1] |= {"name": column_name(p, f), "low": ends[0], "high": ends[1] if high > low else ""}
    return drawn


def _texts(p: Model, q: Model, known: Evidence, cells: list[list[int]], starts: IntArray, n: int) -> list[str]:
    """What is read out for each cell."""
    names = names_of(p, q)
    texts = []
    for i, start in enumerate(starts):
        end = int(starts[i + 1]) if i + 1 < len(starts) else n
        where = f"node {start}" if end == start + 1 else f"nodes {start} to {end - 1}, mostly"
        seen = f" observed {_value(p, known.x[start])};" if end == start + 1 else ""
        states = ", ".join(f"{name} in {state_name(p, held[i])}" for name, held in zip(names, cells, strict=True))
        texts.append(f"{where}:{seen} {states}")
    return texts


def _value(p: Model, row: Array) -> str:
    """An observation in words."""
    words = []
    for f, value in enumerate(row[:LINES]):
        names = None if p.symbol_names is None else p.symbol_names[f]
        known = bool(np.isfinite(value))
        words.append("nothing" if not known else names[int(value)] if names is not None else shown(float(value), 4))
    return ", ".join(words)
