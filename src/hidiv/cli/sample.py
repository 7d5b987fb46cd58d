"""hidiv sample: draw observations from a model."""

from __future__ import annotations

import click

from hidiv.cli.inputs import read_model, read_tree_for, tree_option


@click.command()
@click.argument("model", metavar="A.json")
@tree_option
@click.option("--seed", type=int, help="Seed, for the same draw again.")
@click.option("--states", is_flag=True, help="Write the hidden states too, in a column that --data ignores.")
@click.option(
    "-o", "--out", default="-", show_default=True, metavar="FILE", help="CSV file to write; - is standard output."
)
def sample(model: str, tree_text: str | None, seed: int | None, states: bool, out: str) -> None:
    """Draw one tree of observations, one row a node.

    \b
    Example:
      hidiv sample rain.json --tree chain:100 --seed 1 -o x.csv
    """
    from hidiv.files.csv_values import values_to_text
    from hidiv.files.disk import write_text
    from hidiv.inference.sampling import sample as draw

    source = read_model(model)
    hidden, x = draw(source, read_tree_for(tree_text, source), seed=seed)
    columns = [("x", x)] if x.ndim == 1 else [(f"x{f}", x[:, f]) for f in range(x.shape[1])]
    text = values_to_text(([("state", hidden)] if states or not columns else []) + columns)
    if out == "-":
        click.echo(text, nl=False)
    else:
        write_text(out, text)
