"""hidiv report: an HTML page about two models, or about many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hidiv.cli.inputs import (
    FILE,
    columns_option,
    json_option,
    read_data,
    read_pair,
    read_tree_for,
    read_tree_or_none,
    tree_option,
)
from hidiv.cli.interrupts import was_interrupted
from hidiv.cli.many_models import quantity_option, read_models
from hidiv.cli.text_tables import print_json
from hidiv.errors import HidivError, refuse

if TYPE_CHECKING:
    from hidiv.report.page import Page


@click.command()
@click.argument("models", nargs=-1, required=True, type=FILE, metavar="MODELS...")
@tree_option
@click.option("--data", type=FILE, metavar="X.csv", help="Observations: shows where along them the two models differ.")
@click.option(
    "--result",
    "results",
    multiple=True,
    type=FILE,
    metavar="D.json",
    help="A result to show: of hidiv differ or reduce, or any that hd.save wrote.",
)
@quantity_option("joint", "aligned", "observed")
@columns_option
@click.option("-o", "--out", "out", type=click.Path(dir_okay=False), metavar="REPORT.html", help="The page; needed.")
@json_option
def report(
    models: tuple[str, ...],
    tree_text: str | None,
    data: str | None,
    results: tuple[str, ...],
    quantity: str,
    columns: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Write one self-contained HTML page about two models, or about all pairs of more.

    Its JSON can be downloaded from the page. If the page would exceed a megabyte, the JSON is written next to it,
    report.json for report.html. The page about two models has every quantity; --quantity is for a page about more.

    \b
    Example:
      hidiv report rain.json snow.json --tree chain:100 -o report.html
    """
    from hidiv.files.disk import check_target, write_text

    if len(models) == 1 and not models[0].endswith(".npz"):
        remedy = f"for example hidiv report {models[0]} OTHER.json --tree chain:100 -o {out or 'report.html'}"
        refuse(HidivError, "MODELS", "a report needs two models or more, and the second is missing", models[0], remedy)
    if out is None:
        refuse(HidivError, "-o", "is needed, the page to write", remedy="for example -o report.html")
    check_target(out)
    json_name = free_name(Path(out))
    if len(models) == 2 and not any(path.endswith(".npz") for path in models):
        page = of_two(models[0], models[1], tree_text, data, results, columns, json_name)
    else:
        page = of_many(models, tree_text, data, results, quantity, columns, json_name)
    if page.json_name is not None:
        write_text(str(Path(out).with_name(page.json_name)), page.data_text())
    write_text(out, page.html)
    if as_json:
        print_json(page.data)
    else:
        click.echo(out if page.json_name is None else f"{out}, with all of its numbers in {page.json_name}")
    if page.data.get("missing"):
        click.echo(f"not finished: {', '.join(page.data['missing'])}", err=True)


def free_name(page: Path) -> str:
    """report.json for report.html; report-data.json and so on if that file exists and is not a report's."""
    name, i = f"{page.stem}.json", 1
    while page.with_name(name).exists() and not is_ours(page.with_name(name)):
        name, i = f"{page.stem}-data{i if i > 1 else ''}.json", i + 1
    return name


def is_ours(path: Path) -> bool:
    """Whether a report wrote this file."""
    try:
        with path.open("rb") as file:
            return bool(re.match(rb'\{\s*"format":\s*"hidiv\.(collection_)?report"', file.read(100)))
    except OSError:
        return False


def of_two(
    first: str,
    second: str,
    tree_text: str | None,
    data: str | None,
    results: tuple[str, ...],
    columns: str | None,
    json_name: str,
) -> Page:
    """The page about two model files."""
    from hidiv.files.loading import load
    from hidiv.report.pair_page import pair_page

    p, q = read_pair(first, second, columns)
    values = None if data is None else read_data(data)
    tree = read_tree_or_none(tree_text) if data is not None else read_tree_for(tree_text, p, q)
    answers = [load(path) for path in results]
    return pair_page(p, q, tree, evidence=values, json_name=json_name, stopped=was_interrupted, results=answers)


def of_many(
    paths: tuple[str, ...],
    tree_text: str | None,
    data: str | None,
    results: tuple[str, ...],
    quantity: str,
    columns: str | None,
    json_name: str,
) -> Page:
    """The page about a collection."""
    from hidiv.report.collection_page import collection_page

    for option, given in (
        ("--data", data is not None),
        ("--result", bool(results)),
        ("--columns", columns is not None),
    ):
        if given:
            refuse(HidivError, option, "belongs to a report about two models")
    models, names = read_models(paths)
    tree = read_tree_for(tree_text, models[0])
    return collection_page(models, tree, names=names, quantity=quantity, json_name=json_name)  # type: ignore[arg-type]
