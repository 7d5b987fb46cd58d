"""hidiv compare: how different are two models?"""

from __future__ import annotations

import sys
from contextlib import suppress
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from hidiv.cli.comparison_text import in_words
from hidiv.cli.inputs import (
    FILE,
    columns_option,
    json_option,
    montecarlo_option,
    read_data,
    read_pair,
    read_tree_for,
    read_tree_or_none,
    read_trees_for,
    tree_option,
    unit_option,
)
from hidiv.cli.interrupts import was_interrupted
from hidiv.cli.many_models import measure_option
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import print_json
from hidiv.errors import HidivError, refuse

if TYPE_CHECKING:
    from hidiv.divergences.comparison import Comparison
    from hidiv.divergences.measures.measure import Measure
    from hidiv.divergences.result import Divergence
    from hidiv.models.model import Model


@click.command()
@click.argument("p", type=FILE, metavar="A.json")
@click.argument("q", type=FILE, metavar="B.json")
@tree_option
@click.option("--data", type=FILE, metavar="X.csv", help="Observations: adds the posterior divergence given them.")
@click.option(
    "--initial",
    type=click.Choice(["models", "stationary", "none"]),
    default="models",
    help="Initial laws: those of the models, stationary ones, or none (B starts as A does).",
)
@columns_option
@montecarlo_option
@measure_option("joint", "observed")
@json_option
@unit_option
@click.option(
    "--fail-above",
    type=float,
    metavar="VALUE",
    help="Exit with 1 if the joint divergence is above VALUE (the observed one where states cannot be paired).",
)
def compare(
    p: str,
    q: str,
    tree_text: str | None,
    data: str | None,
    initial: str,
    columns: str | None,
    montecarlo: int | None,
    measure: str | None,
    as_json: bool,
    unit: str,
    fail_above: float | None,
) -> None:
    """Compare two models: joint, observed and, with --data, posterior divergence D(A || B), side by side.

    \b
    Example:
      hidiv compare rain.json snow.json --tree chain:100
      hidiv compare rain.json snow.json --tree chain:100 --measure bayes_error
      hidiv compare rain.json snow.json --tree chain:100,regular:2x4  (both trees)
    """
    from hidiv.divergences.compare import compare as compare_models

    if fail_above is not None and isnan(fail_above):
        refuse(HidivError, "--fail-above", "must be a number to compare with", fail_above)
    first, second = read_pair(p, q, columns)
    if initial != "models" and (measure is not None or montecarlo is not None):
        refuse(HidivError, "--initial", "does not go with --measure or --montecarlo")
    if measure is not None:
        for option, given in (("--data", data), ("--montecarlo", montecarlo)):
            if given is not None:
                refuse(HidivError, option, "does not go with --measure")
        result = measured(first, second, tree_text, measure, unit)
        if as_json:
            print_json(result.to_dict())
        else:
            say("\n".join([repr(result), *result.notes]))
        if fail_above is not None and float(result) > fail_above:
            sys.exit(1)
        return
    values = None if data is None else read_data(data)
    tree = read_tree_or_none(tree_text) if data is not None else read_trees_for(tree_text, first, second)
    start: Any = {"models": True, "none": False}.get(initial, initial)
    comparison = compare_models(first, second, tree, evidence=values, initial=start).to(unit)
    drawn = (
        {}
        if montecarlo is None or was_interrupted()
        else estimates(first, second, tree, values, comparison, montecarlo)
    )
    if as_json:
        print_json(comparison.to_dict() | {f"{name}_montecarlo": result.to_dict() for name, result in drawn.items()})
    else:
        say(in_words(first, second, comparison, drawn, tree))
    if fail_above is not None and is_above(comparison, fail_above):
        sys.exit(1)


def measured(p: Model, q: Model, tree_text: str | None, name: str, unit: str) -> Divergence | Measure:
    """One measure of two models."""
    from hidiv.divergences.measures.names import MEASURES, function_of

    if name in MEASURES:
        place = (read_tree_for(tree_text, p, q),) if MEASURES[name].on_tree else ()
        seed = {"seed": 0} if MEASURES[name].by_overlap else {}
        result: Measure = function_of(name)(p, q, *place, **seed)
        return result.to(unit)
    from hidiv.divergences.joint.kl import joint_kl
    from hidiv.divergences.observed.kl import observed_kl

    tree = read_trees_for(tree_text, p, q)
    return (joint_kl(p, q, tree) if name == "joint" else observed_kl(p, q, tree, seed=0)).to(unit)


def estimates(
    p: Model, q: Model, tree: Any, values: Any, comparison: Comparison, samples: int
) -> dict[str, Divergence]:
    """A plain Monte Carlo estimate of each quantity that has a value; after an interrupt, from the draws so far."""
    from hidiv.divergences.montecarlo import montecarlo
    from hidiv.divergences.quantities import Quantity

    results: dict[str, Divergence] = {}
    place = len(values) if tree is None and values is not None else tree
    quantities: tuple[Quantity, ...] = ("joint", "observed", "posterior")
    with suppress(KeyboardInterrupt):
        for quantity in quantities:
            if getattr(comparison, quantity) is not None:
                evidence = values if quantity == "posterior" else None
                result = montecarlo(
                    p, q, place, quantity=quantity, evidence=evidence, samples=samples, seed=0, keep_finished=True
                )
                results[quantity] = result.to(comparison.unit)
            if was_interrupted():
                break
    return results


def is_above(comparison: Comparison, limit: float) -> bool:
    """Whether the joint divergence, or else the observed one, exceeds the limit; a value beyond doubles does."""
    decisive = comparison.joint if comparison.joint_per_node is not None else comparison.observed
    return decisive is None or decisive.value > limit
