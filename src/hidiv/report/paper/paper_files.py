"""The regenerated paper in a folder: paper.html, summary.md, paper.json, and every figure as PNG and SVG."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hidiv.divergences.result import Divergence, plain
from hidiv.errors import InvalidFile, refuse, shown
from hidiv.files.disk import replace_file, write_text
from hidiv.report.page import render, versions
from hidiv.report.paper.claims import claims
from hidiv.report.paper.experiments import Experiments
from hidiv.report.paper.figures import figures
from hidiv.report.paper.summary import ABOUT, headline, markdown, meanings, parts
from hidiv.report.paper.verdicts import Verdict


def make(folder: Path) -> None:
    """Make the folder if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(InvalidFile, shown(str(folder)), f"cannot be made, {(error.strerror or type(error).__name__).lower()}")


def write(folder: Path, experiments: Experiments, verdicts: list[Verdict], seed: int, version: str) -> list[Path]:
    """Write the page, the summary and the numbers of what is finished beside its figures; their paths."""
    how = f"Regenerated from the printed parameters by hidiv {version}, seed {seed}."
    judged, numbers = claims(experiments), to_json(experiments, verdicts, seed, version)
    written = [folder / "paper.html", folder / "summary.md", folder / "paper.json"]
    context = {
        "title": "The paper, regenerated", "how": f"{how} Nats throughout.", "missing": experiments.missing,
        "headline": headline(verdicts, judged), "about": ABOUT, "verdicts": verdicts, "claims": judged,
        "meanings": meanings(verdicts), "parts": parts(experiments), "versions": versions(), "result": numbers,
        "view": {},
        "pictures": {part.picture: _embedded(folder / f"{part.picture}.svg") for part in parts(experiments)},
    }  # fmt: skip
    write_text(str(written[0]), render("paper.html.j2", context, "paper.json").html)
    write_text(str(written[1]), markdown(experiments, verdicts, judged, how))
    write_text(str(written[2]), json.dumps(numbers, indent=1) + "\n")
    return written


def _embedded(picture: Path) -> str:
    """A picture as an address that holds all of it."""
    return "data:image/svg+xml;base64," + b64encode(picture.read_bytes()).decode("ascii")


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
        "statements": [claim.to_dict() for claim in claims(experiments)],
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
