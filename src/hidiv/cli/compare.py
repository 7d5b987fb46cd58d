"""hidiv compare: how different are two models?"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from hidiv.cli.inputs import (
    json_option,
    montecarlo_option,
    read_data,
    read_model,
    read_tree_for,
    tree_option,
    unit_option,
)
from hidiv.cli.tables import Row, table
from hidiv.errors import OutOfRange

if TYPE_CHECKING:
    from hidiv.divergences.result import Divergence, Parts
    from hidiv.models.model import Model


@click.command()
@click.argument("p", metavar="A.json")
@click.argument("q", metavar="B.json")
@tree_option
@click.option("--data", metavar="X.csv", help="Observations: adds the posterior divergence given them.")
@montecarlo_option
@json_option
@unit_option
@click.option("--fail-above", type=float, metavar="VALUE", help="Exit with 1 if the joint divergence is above VALUE.")
def compare(
    p: str,
    q: str,
    tree_text: str | None,
    data: str | None,
    montecarlo: int | None,
    as_json: bool,
    unit: str,
    fail_above: float | None,
) -> None:
    """Compare two models: D(A || B) of the joint law of states and observations; with --data the posterior one too.

    \b
    Example:
      hidiv compare rain.json snow.json --tree chain:100
    """
    from hidiv.models.tree import Tree

    first, second = read_model(p), read_model(q)
    values = None if data is None else read_data(data)
    tree = (
        Tree.chain(len(values)) if tree_text is None and values is not None else read_tree_for(tree_text, first, second)
    )
    results = comparison(first, second, tree, unit, values, montecarlo)
    if as_json:
        click.echo(json.dumps(to_json(first, second, unit, results), indent=2))
    else:
        click.echo(in_words(first, second, results))
    if fail_above is not None and ("joint" not in results or results["joint"].value > fail_above):
        sys.exit(1)


def comparison(
    p: Model, q: Model, tree: Any, unit: str, values: Any = None, montecarlo: int | None = None
) -> dict[str, Divergence]:
    """The joint divergence, the same per node, the rate where there is one, the posterior one where there are data.

    An estimate stands under the name of its exact value with "_montecarlo" behind it.
    """
    from hidiv.divergences.joint import joint_kl, joint_kl_rate
    from hidiv.divergences.montecarlo import montecarlo as estimate
    from hidiv.divergences.posterior import posterior_kl

    results = {}
    # On a tree too large for the value itself the value per node still says it all.
    with suppress(OutOfRange):
        results["joint"] = joint_kl(p, q, tree)
    if montecarlo is not None:
        results["joint_montecarlo"] = estimate(p, q, tree, samples=montecarlo, seed=0)
    results["joint_per_node"] = joint_kl(p, q, tree, per_node=True)
    if p.n_groups == q.n_groups == 1 and p.end is None:
        results["joint_rate"] = joint_kl_rate(p, q)
    if values is not None:
        results["posterior"] = posterior_kl(p, q, values, tree)
        if montecarlo is not None:
            results["posterior_montecarlo"] = estimate(
                p, q, tree, quantity="posterior", evidence=values, samples=montecarlo, seed=0
            )
    return {name: result.to(unit) for name, result in results.items()}


def to_json(p: Model, q: Model, unit: str, results: dict[str, Divergence]) -> dict[str, Any]:
    """The schema of `hidiv compare --json`."""
    described: dict[str, Any] = {"format": "hidiv.comparison", "version": 1, "p": p.name, "q": q.name, "unit": unit}
    return described | {"joint": None} | {name: result.to_dict() for name, result in results.items()}


def in_words(p: Model, q: Model, results: dict[str, Divergence]) -> str:
    """The results as a table, what is infinite and why below it."""
    joint = results.get("joint", results["joint_per_node"])
    rows: list[Row] = [
        (
            "joint divergence" if "joint" in results else "joint divergence per node",
            joint.value,
            f"{joint.unit}, {joint.status}",
        )
    ]
    rows += estimate_rows(results, "joint")
    if joint.parts is not None:
        rows += part_rows(p, joint.parts)
    if "joint" in results:
        rows.append(("per node", results["joint_per_node"].value, joint.unit))
    if "joint_rate" in results:
        rows.append(("rate of a long chain", results["joint_rate"].value, f"{joint.unit} per step"))
    if "posterior" in results:
        rows.append(
            ("posterior divergence", results["posterior"].value, f"{joint.unit}, {results['posterior'].status}")
        )
        rows += estimate_rows(results, "posterior")
    lines = [joint.subject, "", table(rows)]
    lines += [
        f"infinite because {reason}"
        for result in results.values()
        for reason in result.infinite
        if result.status == "exact"
    ]
    lines += ["", "joint: states and observations together, states paired by their labels"]
    if "posterior" in results:
        lines.append("posterior: the hidden states given the data")
    return "\n".join(lines)


def estimate_rows(results: dict[str, Divergence], name: str) -> list[Row]:
    """The Monte Carlo estimate that stands beside an exact value, if there is one."""
    beside = results.get(f"{name}_montecarlo")
    if beside is None:
        return []
    error = "" if beside.std_error is None else f"+- {beside.std_error:.2g} standard error, "
    return [("  by Monte Carlo", beside.value, f"{error}{beside.n_samples} draws, {beside.status}")]


def part_rows(p: Model, parts: Parts) -> list[Row]:
    """Initial law, transition rows and emission states, the largest contributions of many groups first."""
    rows: list[Row] = [("  initial law", parts.initial, "")]
    for title, whole, pieces, word in (
        ("  transition rows", parts.transition, parts.rows, "from"),
        ("  emission states", parts.emission, parts.states, "in"),
    ):
        rows.append((title, whole, ""))
        if pieces.ndim == 1:
            rows += [(f"    {word} {state_name(p, s)}", float(piece), "") for s, piece in enumerate(pieces)]
        else:
            rows += [(f"    group {g}", float(piece.sum()), "") for g, piece in enumerate(pieces)][:20]
    return rows


def state_name(model: Model, state: int) -> str:
    """A state by its name, or its number."""
    return f"state {state}" if model.state_names is None else model.state_names[state]
