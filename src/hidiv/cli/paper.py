"""hidiv paper: the paper's table and figures, each number with a verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hidiv.cli.inputs import json_option
from hidiv.cli.interrupts import was_interrupted
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import print_json

if TYPE_CHECKING:
    from hidiv.report.paper.experiments import Experiments


@click.command()
@click.option(
    "-o", "--out", "folder", required=True, metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path),
    help="Folder for paper.html, summary.md, paper.json and the figures.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the Monte Carlo draws.")
@click.option(
    "--trials", type=click.IntRange(min=100), default=10**6, show_default=True,
    help="Rows of Table I with more trials than this are left out.",
)  # fmt: skip
@json_option
def paper(folder: Path, seed: int, trials: int, as_json: bool) -> None:
    """Regenerate every number and figure of the paper from its printed parameters, each with a verdict.

    Each experiment is written when it is finished. Ctrl-C keeps what is written, and the files say what is missing.

    \b
    Example:
      hidiv paper --out paper
    """
    from hidiv import __version__
    from hidiv.errors import MissingExtra, refuse
    from hidiv.report.paper.claims import claims
    from hidiv.report.paper.paper_files import make, to_json
    from hidiv.report.paper.summary import terminal
    from hidiv.report.paper.verdicts import verdicts

    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        refuse(MissingExtra, "paper", f"{error.name} is not installed", remedy="pip install 'hidiv[report]'")
    make(folder)  # before anything is computed
    experiments, written = regenerate(folder, seed, trials)
    tick("")
    judged = verdicts(experiments)
    if as_json:
        print_json(to_json(experiments, judged, seed, __version__))
    else:
        say(terminal(judged, claims(experiments)))
        say(f"\nwritten to {folder}: " + ", ".join(written))
    if experiments.missing:
        click.echo(f"not finished: {', '.join(experiments.missing)}", err=True)


def regenerate(folder: Path, seed: int, trials: int) -> tuple[Experiments, list[str]]:
    """Run the experiments and write each as soon as it is finished; those finished, and the names of the files."""
    from hidiv import __version__
    from hidiv.report.paper.experiments import Experiments, steps
    from hidiv.report.paper.paper_files import draw, write
    from hidiv.report.paper.verdicts import verdicts

    experiments, drawn = Experiments(), None
    files: dict[str, None] = {}  # in the order of writing, each once

    def keep() -> None:
        pictures = draw(folder, experiments, drawn)
        paths = write(folder, experiments, verdicts(experiments), seed, __version__) + pictures
        files.update((path.name, None) for path in paths)

    try:
        for now in steps(seed, trials, tick):
            if was_interrupted():  # the experiment may have fewer draws than asked for
                raise KeyboardInterrupt
            experiments = now
            keep()
            drawn = experiments
    except KeyboardInterrupt:
        if experiments.supplement is None:
            raise
        if drawn is not experiments:  # interrupted while the last one was being written
            keep()
    return experiments, list(files)


def tick(what: str) -> None:
    """Print on a terminal, but not in a pipe, what is being computed."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{what + ' ...' if what else ''}", err=True, nl=False)
