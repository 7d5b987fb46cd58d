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
    from hidiv.files.csv_values import columns_of, values_to_text
    from hidiv.files.disk import check_target
    from hidiv.inference.sampling import sample as draw

    if out != "-":
        check_target(out)
    source = read_model(model)
    hidden, x = draw(source, read_tree_for(tree_text, source), seed=seed)
    columns = columns_of(x, source.symbol_names)
    if as_json:
        entries = [[None if entry != entry else entry for entry in column] for _, column in columns]
        rows = entries[0] if x.ndim == 1 else [[column[u] for column in entries] for u in range(len(x))]
        described = {"format": "hidiv.sample", "version": 1, "states": hidden.tolist(), "x": rows}
        write_out(out, json_text(described))
        return
    hidden_column = [("state", hidden.tolist())] if states or not columns else []
    write_out(out, values_to_text(hidden_column + columns))
