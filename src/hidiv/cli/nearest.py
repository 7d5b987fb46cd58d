"""hidiv nearest: which of many models are nearest to one?"""

from __future__ import annotations

import click

from hidiv.cli.inputs import json_option, read_model, read_tree_for, tree_option, unit_option
from hidiv.cli.many_models import quantity_option, read_models, seed_option
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import print_json, table


@click.command()
@click.argument("query", metavar="QUERY.json")
@click.argument("models", nargs=-1, required=True, metavar="MODELS...")
@tree_option
@click.option("-k", "count", type=click.IntRange(min=1), default=5, show_default=True, help="Number of models to list.")
@quantity_option("joint", "aligned", "observed")
@click.option(
    "--index",
    type=click.Choice(["exact", "faiss"]),
    default="exact",
    show_default=True,
    help="How to search: by the divergence itself, or first by a faiss index.",
)
@seed_option
@click.option("--out", metavar="N.csv", help="Write the list to this CSV file.")
@json_option
@unit_option
def nearest(
    query: str, models: tuple[str, ...], tree_text: str | None, count: int, quantity: str, index: str, seed: int,
    out: str | None, as_json: bool, unit: str,
) -> None:  # fmt: skip
    """List the models with the smallest divergence D(QUERY || model); MODELS are model files and collections (.npz).

    \b
    Example:
      hidiv nearest a.json many.npz --tree chain:100 -k 5
    """
    from math import log

    from hidiv.comparison.neighbours.nearest import nearest as search
    from hidiv.files.disk import check_target, write_text

    if out is not None:
        check_target(out)
    first = read_model(query)
    candidates, names = read_models(models)
    tree, k = read_tree_for(tree_text, first), min(count, len(names))
    result = search(first, candidates, tree, k, quantity=quantity, index=index, seed=seed)  # type: ignore[arg-type]
    scale = 1.0 / log(2.0) if unit == "bits" else 1.0
    listed = [(names[i], float(v) * scale) for i, v in zip(result.indices.tolist(), result.values, strict=True)]
    if out is not None:
        lines = (f'"{name.replace(chr(34), chr(34) * 2)}",{value!r}' for name, value in listed)
        write_text(out, "\n".join([f"model,divergence in {unit}", *lines]) + "\n")
    if as_json:
        described = {
            "format": "hidiv.nearest", "version": 1,
            "query": first.name or query, "quantity": result.quantity, "status": result.status,
            "unit": unit, "recall": result.recall, "notes": list(result.notes),
            "nearest": [
                {"name": name, "index": i, "divergence": value if value < float("inf") else "inf"}
                for (name, value), i in zip(listed, result.indices.tolist(), strict=True)
            ],
        }  # fmt: skip
        print_json(described)
        return
    say(f"{result.quantity} divergence D({first.name or query} || model), {result.status}\n")
    say(table((name, value, unit) for name, value in listed))
    for note in result.notes:
        say(note)
