"""hidiv reduce: how few states are enough?"""

from __future__ import annotations

import click

from hidiv.cli.inputs import FILE, json_option, read_model, read_tree, tree_option
from hidiv.cli.text_tables import print_json


@click.command()
@click.argument("model", type=FILE, metavar="A.json")
@click.option("--states", metavar="K,K,...", help="Numbers of states to try; all smaller ones without it.")
@click.option("--within", type=click.FloatRange(min=0), metavar="NATS", help="Observed divergence a step to allow.")
@tree_option
@click.option(
    "--nodes", type=click.IntRange(min=100), default=200_000, show_default=True, help="Size of the draw fitted to."
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the draws.")
@click.option("--plot", "picture", metavar="d.png", help="Save a plot of what each number of states loses.")
@click.option("-o", "--out", metavar="B.json", help="Model file to write: the smaller model.")
@json_option
def reduce(
    model: str,
    states: str | None,
    within: float | None,
    tree_text: str | None,
    nodes: int,
    seed: int | None,
    picture: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Find smaller models that show nearly the same, and what each of them loses.

    \b
    Example:
      hidiv reduce A.json --within 0.01 -o B.json
    """
    from hidiv.answers.reduction import reduce as reduced
    from hidiv.cli.pictures import check_picture, save_picture
    from hidiv.errors import HidivError, refuse
    from hidiv.files.disk import check_target
    from hidiv.files.saving import save

    if out is not None:
        check_target(out)
    if picture is not None:
        check_picture(picture)
    counts = None
    if states is not None:
        parts = [part.strip() for part in states.split(",")]
        if not all(part.isdecimal() for part in parts):
            refuse(HidivError, f"--states {states}", "are whole numbers with commas between them")
        counts = [int(part) for part in parts]
    tree = None if tree_text is None else read_tree(tree_text)
    result = reduced(read_model(model), counts, within, tree=tree, nodes=nodes, seed=seed)
    if out is not None:
        save(result.model, out)
    if picture is not None:
        from hidiv.plots import reduction

        save_picture(reduction(result), picture)
    if as_json:
        print_json(result.to_dict())
        return
    click.echo(repr(result))
    if out is not None:
        click.echo(f"{result.model!r} -> {out}")
