"""The regenerated paper in a folder: summary.md, paper.json, and every figure as PNG and SVG."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hidiv.divergences.result import Divergence, plain
from hidiv.errors import InvalidFile, refuse, shown
from hidiv.files.disk import replace_file, write_text
from hidiv.report.paper.experiments import Experiments
from hidiv.report.paper.figures import figures
from hidiv.report.paper.summary import markdown
from hidiv.report.paper.verdicts import Verdict, statements


def make(folder: Path) -> None:
    """Make the folder if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(InvalidFile, shown(str(folder)), f"cannot be made, {(error.strerror or type(error).__name__).lower()}")


def write(folder: Path, experiments: Experiments, verdicts: list[Verdict], seed: int, version: str) -> list[Path]:
    """Write the summary and the numbers of what is finished into an existing folder; their paths."""
    how = f"Regenerated from the printed parameters by hidiv {version}, seed {seed}."
    written = [folder / "summary.md", folder / "paper.json"]
    write_text(str(written[0]), markdown(experiments, verdicts, how))
    write_text(str(written[1]), json.dumps(to_json(experiments, verdicts, seed, version), indent=1) + "\n")
    return written


def draw(folder: Path, experiments: Experiments, before: Experiments | None = None) -> list[Path]:
    """Draw the figures of what was not finished before; equal numbers give equal files."""
    import matplotlib

    paths = []
    # Text stays text in the SVG, so that it is small and can be searched.
    with matplotlib.rc_context({"svg.hashsalt": "hidiv", "svg.fonttype": "none"}):
        for name, ax in figures(experiments, before).items():
            figure = ax.get_figure(root=True)
            assert figure is not None
            paths += [folder / f"{name}.png", folder / f"{name}.svg"]
            replace_file(str(paths[-2]), partial(figure.savefig, format="png", dpi=150))
            replace_file(str(paths[-1]), partial(figure.savefig, format="svg", metadata={"Date": None}))
    return paths


def to_json(experiments: Experiments, verdicts: list[Verdict], seed: int, version: str) -> dict[str, Any]:
    """Everything as plain numbers, format "hidiv.paper", version 1."""
    described: dict[str, Any] = {
        "format": "hidiv.paper", "version": 1, "hidiv": version, "seed": seed, "unit": "nats",
        "missing": experiments.missing,
        "verdicts": [verdict.to_dict() for verdict in verdicts],
        "statements": [{"said": statement, "found": finding} for statement, finding in statements(experiments)],
    }  # fmt: skip
    for part in fields(experiments):
        values = getattr(experiments, part.name)
        described[part.name] = (
            None if values is None else {field.name: _plain(getattr(values, field.name)) for field in fields(values)}
        )
    return described


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, Divergence):
        return value.to_dict()
    if isinstance(value, list) and value and isinstance(value[0], Divergence):
        return [one.to_dict() for one in value]
    return plain(value.tolist() if isinstance(value, np.ndarray) else value)
