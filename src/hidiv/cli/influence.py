"""hidiv influence: which observations decide the hidden states?"""

from __future__ import annotations

import click

from hidiv.cli.inputs import (
    FILE,
    data_option,
    json_option,
    read_data,
    read_model,
    read_tree_or_none,
    tree_option,
    unit_option,
)
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import largest, print_json
from hidiv.errors import counted


@click.command()
@click.argument("model", type=FILE, metavar="A.json")
@data_option
@tree_option
@json_option
@unit_option
def influence(model: str, data: str, tree_text: str | None, as_json: bool, unit: str) -> None:
    """Print how much each observation changes what is known of the hidden states.

    \b
    Example:
      hidiv influence rain.json --data x.csv
    """
    from hidiv.divergences.quantities import UNITS
    from hidiv.inference.influence import influence as influence_of

    values = read_data(data)
    shares = influence_of(read_model(model), values, read_tree_or_none(tree_text)) * UNITS[unit]
    if as_json:
        print_json({"format": "hidiv.influence", "version": 1, "unit": unit, "by_node": shares.tolist()})
        return
    title = f"influence of each of {counted(len(shares), 'observation')}" + (
        ", the largest" if len(shares) > 20 else ""
    )
    say(
        "\n".join(
            [title, "", largest(shares, unit), "", "D( states given all || states given all but this one ), exact"]
        )
    )
