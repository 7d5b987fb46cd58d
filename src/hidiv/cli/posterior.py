"""hidiv posterior: how far apart are the hidden states of two models, given data?"""

from __future__ import annotations

from contextlib import suppress

import click

from hidiv.cli.comparison_text import estimate_rows
from hidiv.cli.inputs import (
    FILE,
    data_option,
    json_option,
    montecarlo_option,
    read_data,
    read_model,
    read_tree_or_none,
    tree_option,
    unit_option,
)
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import Row, largest, print_json, table


@click.command()
@click.argument("p", type=FILE, metavar="A.json")
@click.argument("q", type=FILE, metavar="B.json")
@data_option
@tree_option
@click.option(
    "--target",
    type=click.Choice(["states", "unobserved"]),
    default="states",
    show_default=True,
    help="Compare the hidden states, or everything unknown (missing values too).",
)
@montecarlo_option
@json_option
@unit_option
def posterior(
    p: str, q: str, data: str, tree_text: str | None, target: str, montecarlo: int | None, as_json: bool, unit: str
) -> None:
    """Compare the hidden states of two models given data: D( A(states | data) || B(states | data) ).

    \b
    Example:
      hidiv posterior rain.json snow.json --data x.csv
    """
    from hidiv.divergences.montecarlo import montecarlo as estimate
    from hidiv.divergences.posterior.kl import posterior_kl
    from hidiv.divergences.result import plain

    first, second, values = read_model(p), read_model(q), read_data(data)
    tree = read_tree_or_none(tree_text)
    result = posterior_kl(first, second, values, tree, target=target).to(unit)  # type: ignore[arg-type]
    drawn = None
    if montecarlo is not None:
        with suppress(KeyboardInterrupt):  # the exact value is finished and worth printing
            place = tree if tree is not None else len(values)
            drawn = estimate(
                first,
                second,
                place,
                quantity="posterior",
                evidence=values,
                samples=montecarlo,
                seed=0,
                keep_finished=True,
            ).to(unit)
    if as_json:
        described = result.to_dict() | {"by_node": None if result.by_node is None else plain(result.by_node)}
        print_json(described if drawn is None else described | {"montecarlo": drawn.to_dict()})
        return
    rows: list[Row] = [("posterior divergence", result.value, f"{unit}, {result.status}")]
    if drawn is not None:
        rows += estimate_rows({"posterior": drawn}, "posterior")
    lines = [
        result.subject,
        "",
        table(rows),
        *(f"infinite because {reason}" for reason in result.infinite),
        *result.notes,
    ]
    if result.by_node is not None and not result.infinite:
        lines += ["", "by node" + (", the largest" if len(result.by_node) > 20 else ""), largest(result.by_node, unit)]
    lines += ["", "posterior: the hidden states given the data, states paired by their labels"]
    say("\n".join(lines))
