"""hidiv pairwise: the divergences of all pairs of many models."""

from __future__ import annotations

from math import inf, isnan, log
from typing import TYPE_CHECKING, Any

import click

from hidiv.cli.inputs import json_option, read_data, read_tree_for, tree_option, unit_option
from hidiv.cli.many_models import measure_option, quantity_option, read_models, seed_option
from hidiv.cli.pictures import check_picture, save_picture
from hidiv.cli.speaking import COLUMNS, say
from hidiv.cli.text_tables import print_json
from hidiv.errors import HidivError, counted, refuse

if TYPE_CHECKING:
    from hidiv.comparison.pairwise.matrix import PairwiseMatrix


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODELS...")
@tree_option
@click.option("--out", metavar="D.csv", help="Write the matrix to this file, .csv or .npz.")
@click.option("--plot", metavar="D.png", help="Save a plot of the matrix with its dendrogram.")
@click.option("--store", metavar="D.zarr", help="Keep finished blocks here; another run computes what is left.")
@quantity_option("joint", "aligned", "observed", "posterior")
@measure_option("joint", "aligned", "observed", "posterior")
@click.option("--data", metavar="X.csv", help="Observations for the posterior divergence.")
@click.option(
    "--method",
    type=click.Choice(["auto", "variational", "montecarlo"]),
    default="auto",
    show_default=True,
    help="Method for the observed divergence.",
)
@click.option(
    "--samples", type=click.IntRange(min=2), metavar="N", help="Observed divergence by Monte Carlo with N draws."
)
@click.option(
    "--rtol",
    type=float,
    metavar="R",
    help="Observed divergence by Monte Carlo until standard errors are below this share.",
)
@seed_option
@click.option("--symmetric", is_flag=True, help="Compute D(p || q) + D(q || p).")
@click.option("--processes", is_flag=True, help="Compute blocks in processes instead of threads.")
@json_option
@unit_option
def pairwise(
    models: tuple[str, ...], tree_text: str | None, out: str | None, plot: str | None, store: str | None, quantity: str,
    measure: str | None, data: str | None, method: str, samples: int | None, rtol: float | None, seed: int,
    symmetric: bool, processes: bool, as_json: bool, unit: str,
) -> None:  # fmt: skip
    """Compute the divergences D(row || column) of all pairs; MODELS are model files and collections (.npz).

    Ctrl-C keeps the pairs that are finished; the cells of the others stay empty. With --store another run continues.

    \b
    Example:
      hidiv pairwise a.json b.json c.json --tree chain:100 --out d.csv
    """
    import numpy as np

    from hidiv.comparison.pairwise.pairwise import pairwise as all_pairs
    from hidiv.divergences.measures.names import MEASURES
    from hidiv.files.disk import check_target
    from hidiv.files.named_matrices import write_matrix

    if out is not None:
        check_target(out)
    if plot is not None:
        check_picture(plot)
    collection, names = read_models(models)
    quantity = measure or quantity
    if quantity in MEASURES:
        drawn = MEASURES[quantity].by_overlap
        for option, given in (
            ("--samples", samples), ("--rtol", None if drawn else rtol), ("--symmetric", symmetric or None)
        ):  # fmt: skip
            if given is not None:
                refuse(HidivError, option, "belongs to divergences", quantity)
        unit = unit if MEASURES[quantity].unit else ""
    if (data is None) == (quantity == "posterior"):
        refuse(HidivError, "--data", "belongs to --quantity posterior, which needs it")
    values = None if data is None else read_data(data)
    without_tree = values is not None or (quantity in MEASURES and not MEASURES[quantity].on_tree)
    tree = None if tree_text is None and without_tree else read_tree_for(tree_text, collection[0])
    options: dict[str, Any] = {"store": store, "executor": "processes" if processes else None, "keep_finished": True}
    if quantity not in MEASURES:
        options |= {"symmetric": symmetric, "evidence": values, "samples": samples, "rtol": rtol, "method": method}
    if quantity not in MEASURES or MEASURES[quantity].by_overlap:
        options["seed"] = seed
    if quantity in MEASURES and MEASURES[quantity].by_overlap and rtol is not None:
        options["rtol"] = rtol
    matrix = all_pairs(collection, tree, measure=quantity, **options)  # type: ignore[arg-type]
    table = np.asarray(matrix) / nats_in(unit)
    if out is not None:
        write_matrix(out, table, names, names, {**described(matrix), "unit": unit})
    if plot is not None and matrix.finished is None:
        draw(plot, table, names, matrix, unit)
    if as_json:
        print_json(to_json(matrix, table, names, unit, whole=out is None))
    else:
        say(in_words(matrix, table, names, unit, out is None))
    if matrix.finished is not None:
        click.echo(matrix.notes[-1] + (", and there is no picture" if plot is not None else ""), err=True)


def described(matrix: PairwiseMatrix) -> dict[str, Any]:
    """What the numbers are, to be kept in an NPZ file."""
    return {"quantity": matrix.quantity, "status": matrix.status, "symmetric": matrix.symmetric, "notes": matrix.notes}


def nats_in(unit: str) -> float:
    """How many nats a unit has: a bit has log 2."""
    return log(2.0) if unit == "bits" else 1.0


def draw(path: str, table: Any, names: list[str], matrix: PairwiseMatrix, unit: str) -> None:
    """Save a plot of the matrix with the dendrogram of its average linkage."""
    from hidiv.comparison.clustering.cluster import cluster
    from hidiv.plots import pairwise as picture

    axes: Any = picture(
        table, names=names, linkage=cluster(matrix, 1).linkage, unit=unit, quantity=matrix.quantity,
        status=matrix.status, symmetric=matrix.symmetric,
    )  # fmt: skip
    save_picture(axes, path)


def to_json(matrix: PairwiseMatrix, table: Any, names: list[str], unit: str, whole: bool) -> dict[str, Any]:
    """The result as JSON, without the matrix if it went to a file; infinity is text and a missing pair null."""
    import numpy as np

    error = None if matrix.std_error is None or not whole else np.asarray(matrix.std_error) / nats_in(unit)
    return {
        "format": "hidiv.pairwise", "version": 1,
        "quantity": matrix.quantity, "status": matrix.status, "symmetric": matrix.symmetric, "unit": unit,
        "names": names, "notes": list(matrix.notes), "matrix": _plain(table) if whole else None,
        "std_error": None if error is None else _plain(error),
    }  # fmt: skip


def _plain(table: Any) -> list[list[Any]]:
    """A matrix as lists that JSON can hold."""
    return [[None if isnan(x) else x if x < inf else "inf" for x in row] for row in table.tolist()]


def in_words(matrix: PairwiseMatrix, table: Any, names: list[str], unit: str, whole: bool) -> str:
    """What was computed, its notes and, unless it went to a file, the matrix."""
    what = "D(p || q) + D(q || p)" if matrix.symmetric else "D(row || column)"
    about = (
        f"{matrix.quantity} divergence {what} in {unit}"
        if matrix.direction != "symmetric"
        else (matrix.words.replace("in nats", f"in {unit}"))
    )
    lines = [
        f"{counted(len(names), 'model')}, {about}, {matrix.status}",
        *matrix.notes,
    ]
    if whole:
        width = max(10, *(len(name) for name in names))
        block = max(1, (COLUMNS - width) // (width + 2))  # columns that fit side by side
        for first in range(0, len(names), block):
            some = slice(first, first + block)
            lines += ["", " " * width + "".join(f"  {name:>{width}}" for name in names[some])]
            lines += [
                f"{name:<{width}}" + "".join(f"  {'' if isnan(x) else f'{x:.6g}':>{width}}" for x in row[some])
                for name, row in zip(names, table.tolist(), strict=True)
            ]
    return "\n".join(lines)
