"""The regenerated paper on disk: summary.md, paper.json, every figure as PNG and SVG."""

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
from hidiv.report.paper.statements import statements
from hidiv.report.paper.summary import markdown
from hidiv.report.paper.verdicts import Verdict


def make(folder: Path) -> None:
    """The folder, where there is none yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(InvalidFile, shown(str(folder)), f"cannot be made, {(error.strerror or type(error).__name__).lower()}")


def write(folder: Path, experiments: Experiments, found: list[Verdict], seed: int, version: str) -> list[Path]:
    """Summary and numbers of what is finished, into a folder that is there."""
    how = f"Regenerated from the printed parameters by hidiv {version}, seed {seed}."
    written = [folder / "summary.md", folder / "paper.json"]
    write_text(str(written[0]), markdown(experiments, found, how))
    write_text(str(written[1]), json.dumps(to_json(experiments, found, seed, version), indent=1) + "\n")
    return written


def draw(folder: Path, experiments: Experiments, before: Experiments | None = None) -> list[Path]:
    """The figures of what was not finished before; the same bytes for the same numbers."""
    import matplotlib

    paths = []
    # Text stays text in the SVG: small, searchable, readable by machines.
    with matplotlib.rc_context({"svg.hashsalt": "hidiv", "svg.fonttype": "none"}):
        for name, ax in figures(experiments, before).items():
            figure = ax.get_figure(root=True)
            assert figure is not None
            paths += [folder / f"{name}.png", folder / f"{name}.svg"]
            replace_file(str(paths[-2]), partial(figure.savefig, format="png", dpi=150))
            replace_file(str(paths[-1]), partial(figure.savefig, format="svg", metadata={"Date": None}))
    return paths


def to_json(experiments: Experiments, found: list[Verdict], seed: int, version: str) -> dict[str, Any]:
    """Everything as plain numbers: format "hidiv.paper", version 1."""
    described: dict[str, Any] = {
        "format": "hidiv.paper", "version": 1, "hidiv": version, "seed": seed, "unit": "nats",
        "missing": experiments.missing,
        "verdicts": [verdict.to_dict() for verdict in found],
        "statements": [{"said": said, "found": finding} for said, finding in statements(experiments)],
    }  # fmt: skip
    for part in fields(experiments):
        held = getattr(experiments, part.name)
        described[part.name] = (
            None if held is None else {field.name: _plain(getattr(held, field.name)) for field in fields(held)}
        )
    return described


def _plain(value: Any) -> Any:
    if isinstance(value, Divergence):
        return value.to_dict()
    if isinstance(value, list) and value and isinstance(value[0], Divergence):
        return [one.to_dict() for one in value]
    return plain(value.tolist() if isinstance(value, np.ndarray) else value)
