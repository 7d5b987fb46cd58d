"""hidiv paper: the paper's table and figures, each number with a verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hidiv.cli.inputs import json_option
from hidiv.cli.tables import print_json


@click.command()
@click.option(
    "--out", "folder", required=True, metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path),
    help="Where summary.md, paper.json and the figures go.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the Monte Carlo draws.")
@click.option(
    "--trials", type=click.IntRange(min=100), default=10**6, show_default=True,
    help="Rows of Table I with more trials than this are left out.",
)  # fmt: skip
@json_option
def paper(folder: Path, seed: int, trials: int, as_json: bool) -> None:
    """Regenerate every number and figure of the paper from its printed parameters, each with a verdict.

    \b
    Example:
      hidiv paper --out paper
    """
    from hidiv import __version__
    from hidiv.errors import MissingExtra, refuse
    from hidiv.report.paper.experiments import run
    from hidiv.report.paper.summary import terminal
    from hidiv.report.paper.verdicts import verdicts
    from hidiv.report.paper.writing import make, to_json, write

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        refuse(MissingExtra, "paper", "matplotlib is not installed", remedy="pip install 'hidiv[plot]'")
    make(folder)  # what cannot be written is said before anything is computed
    found = run(seed, trials, tick)
    judged = verdicts(found)
    tick("the figures")
    written = write(folder, found, judged, seed, __version__)
    tick("")
    if as_json:
        print_json(to_json(found, judged, seed, __version__))
        return
    click.echo(terminal(judged))
    click.echo(f"\nwritten to {folder}: " + ", ".join(path.name for path in written))


def tick(what: str) -> None:
    """On a terminal say what is being computed; nothing in a pipe."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{what + ' ...' if what else ''}", err=True, nl=False)
