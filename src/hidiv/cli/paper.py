"""hidiv paper: the paper's table and figures, each number with a verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hidiv.cli.inputs import json_option
from hidiv.cli.interrupts import was_interrupted
from hidiv.cli.text_tables import print_json

if TYPE_CHECKING:
    from hidiv.report.paper.experiments import Experiments


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

    Everything is written as it is finished; Ctrl-C keeps it, and the files say what is missing.

    \b
    Example:
      hidiv paper --out paper
    """
    from hidiv import __version__
    from hidiv.errors import MissingExtra, refuse
    from hidiv.report.paper.summary import terminal
    from hidiv.report.paper.verdicts import verdicts
    from hidiv.report.paper.paper_files import make, to_json

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        refuse(MissingExtra, "paper", "matplotlib is not installed", remedy="pip install 'hidiv[plot]'")
    make(folder)  # what cannot be written is said before anything is computed
    found, written = regenerate(folder, seed, trials)
    tick("")
    judged = verdicts(found)
    if as_json:
        print_json(to_json(found, judged, seed, __version__))
    else:
        click.echo(terminal(judged))
        click.echo(f"\nwritten to {folder}: " + ", ".join(written))
    if found.missing:
        click.echo(f"not finished: {', '.join(found.missing)}", err=True)


def regenerate(folder: Path, seed: int, trials: int) -> tuple[Experiments, list[str]]:
    """The experiments, each written as soon as it is finished, and the names of the files; at Ctrl-C those so far."""
    from hidiv import __version__
    from hidiv.report.paper.experiments import Experiments, steps
    from hidiv.report.paper.verdicts import verdicts
    from hidiv.report.paper.paper_files import draw, write

    found, drawn = Experiments(), None
    files: dict[str, None] = {}  # in the order of writing, each once

    def keep() -> None:
        paths = write(folder, found, verdicts(found), seed, __version__) + draw(folder, found, drawn)
        files.update((path.name, None) for path in paths)

    try:
        for now in steps(seed, trials, tick):
            if was_interrupted():  # while something ran that then made do with less: not what was asked for
                raise KeyboardInterrupt
            found = now
            keep()
            drawn = found
    except KeyboardInterrupt:
        if found.supplement is None:
            raise
        if drawn is not found:  # it came while the last one was being written
            keep()
    return found, list(files)


def tick(what: str) -> None:
    """On a terminal say what is being computed; nothing in a pipe."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{what + ' ...' if what else ''}", err=True, nl=False)
