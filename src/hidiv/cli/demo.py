"""hidiv demo: compare the paper's two chains and two trees, and explain the numbers."""

from __future__ import annotations

from importlib.resources import files
from math import exp
from typing import TYPE_CHECKING

import click

from hidiv.cli.comparison_text import in_words
from hidiv.cli.inputs import json_option
from hidiv.cli.speaking import say
from hidiv.cli.text_tables import print_json

if TYPE_CHECKING:
    from hidiv.models.model import Model

CHAINS = """\
Two hidden Markov chains of 10 steps, 2 hidden states and 3 symbols (Perduca and Nuel, Section III).
"""
CHAINS_MEANING = """\
A path of hidden states and symbols drawn from theta_1 favours theta_1 over theta_0 by {joint:.4g} nats on average,
a factor of {factor:.0f} in likelihood. Most of it comes from {largest}. Long chains add {rate:.4g} nats a step.
An observer who sees only the symbols can tell less: the observed divergence is {observed:.4g} nats ({status}), and
that is what most people mean by the divergence between two hidden Markov models.
"""
TREES = """\
Two hidden Markov trees of 3 levels, 2 children a node, parameters by level, Gaussian emissions (their Table I).
"""
TREES_MEANING = """\
The paper prints 0.690. By Theorem 1 it is exact for any tree; on this one the root's emission alone contributes
{root:.0%} of it.
"""


@click.command()
@json_option
def demo(as_json: bool) -> None:
    """Compare the paper's two chains and two trees.

    \b
    Example:
      hidiv demo
    """
    from hidiv.divergences.compare import compare
    from hidiv.models.tree import Tree

    p, q = (packaged_model(f"chain_{side}.json") for side in "pq")
    chains = compare(p, q, Tree.chain(10))
    tree_p, tree_q = (packaged_model(f"tree_{side}.json") for side in "pq")
    tree = Tree.regular(2, 3)
    trees = compare(tree_p, tree_q, tree, max_seconds=1.0)
    if as_json:
        print_json({"format": "hidiv.demo", "version": 1, "chains": chains.to_dict(), "trees": trees.to_dict()})
        return
    joint, observed, rate = chains.joint, chains.observed, chains.rates.joint
    assert joint is not None
    assert joint.parts is not None
    assert observed is not None
    assert rate is not None
    contributions = {
        "the initial law": joint.parts.initial,
        "the transitions": joint.parts.transition,
        "the emissions": joint.parts.emission,
    }
    say(paragraph(CHAINS))
    say(in_words(p, q, chains) + "\n")
    meaning = CHAINS_MEANING.format(
        joint=joint.value,
        factor=exp(joint.value),
        largest=max(contributions, key=lambda name: contributions[name]),
        rate=rate.value,
        observed=observed.value,
        status=observed.status,
    )
    say(paragraph(meaning))

    joint = trees.joint
    assert joint is not None
    assert joint.parts is not None
    say(paragraph(TREES))
    say(in_words(tree_p, tree_q, trees, tree=tree) + "\n")
    say(paragraph(TREES_MEANING.format(root=joint.parts.states[0].sum() / joint.value)))


def paragraph(text: str) -> str:
    """A text without its line breaks, and an empty line after it."""
    return " ".join(text.split()) + "\n"


def packaged_model(name: str) -> Model:
    """A model that comes with the package."""
    from hidiv.files.formats import model_from_text

    return model_from_text((files("hidiv.cli") / "models" / name).read_text(encoding="utf-8"), name)
