"""hidiv sample: draw observations from a model."""

from __future__ import annotations

import click

from hidiv.cli.inputs import FILE, json_option, read_model, read_tree_for, tree_option
from hidiv.cli.text_tables import json_text, write_out


@click.command()
@click.argument("model", type=FILE, metavar="A.json")
@tree_option
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the draw.")
@click.option("--states", is_flag=True, help="Write the hidden states as well, in a column that --data ignores.")
@click.option(
    "-o",
    "--out",
    type=FILE,
    default="-",
    show_default=True,
    metavar="FILE",
    help="CSV file to write; - is standard output.",
)
@json_option
def sample(model: str, tree_text: str | None, seed: int | None, states: bool, out: str, as_json: bool) -> None:
    """Draw one tree of observations, one row for each node; --json has the hidden states as well.

    \b
    Example:
      hidiv sample rain.json --tree chain:100 --seed 1 -o x.csv
    """
    from hidiv.files.csv_values import values_to_text
    from hidiv.files.disk import check_target
    from hidiv.inference.sampling import sample as draw

    if out != "-":
        check_target(out)
    source = read_model(model)
    hidden, x = draw(source, read_tree_for(tree_text, source), seed=seed)
    if as_json:
        described = {"format": "hidiv.sample", "version": 1, "states": hidden.tolist(), "x": x.tolist()}
        write_out(out, json_text(described))
        return
    columns = [("x", x)] if x.ndim == 1 else [(f"x{f}", x[:, f]) for f in range(x.shape[1])]
    text = values_to_text(([("state", hidden)] if states or not columns else []) + columns)
    write_out(out, text)
