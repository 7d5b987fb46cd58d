"""The oracle against the reference cases and against itself: two ways to each number, none of them hidiv's."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .loading import cases, further
from .oracle.arithmetic import mp
from .oracle.entropy import entropy_profile, posterior_entropy
from .oracle.influence import influence
from .oracle.inward import joint_by_recursion
from .oracle.joint import joint, joint_by_words
from .oracle.joint_closed import chain, regular
from .oracle.likelihood import log_likelihood
from .oracle.observed import observed
from .oracle.posterior import Impossible, posterior
from .oracle.posterior_recursion import conditional_law, marginals, posterior_by_recursion
from .oracle.rate import rate
from .oracle.renyi import renyi, renyi_by_recursion
from .oracle.smoothing import smooth
from .oracle.trees import parents
from .oracle.until_end import until_end, until_end_by_paths
from .strategies import LAW, evidence, listed_trees, pairs

DIGITS = mp.mpf(10) ** -22  # the reference holds 25 digits


def size(case):
    """Hidden configurations of a case; infinite where the tree is not worth listing."""
    tree = case["tree"]
    if tree is None or "regular" in tree or tree.get("chain", 0) > 50:
        return float("inf")
    return len(case["p"]["initial"]) ** len(parents(tree))


def small(*kinds):
    return [case for case in cases(*kinds) if size(case.values[0]) <= 3**6]


def agrees(value, expected, tolerance=DIGITS):
    expected = mp.mpf(expected)
    return value == expected or abs(value - expected) <= tolerance * abs(expected)


def test_imports_nothing_of_hidiv():
    for path in (Path(__file__).parent / "oracle").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith(("hidiv", "numpy", "scipy")) for name in names), path.name


@pytest.mark.parametrize("case", small("joint"))
def test_joint(case):
    value = joint(case["p"], case["q"], case["tree"])
    assert agrees(value, case["value"])
    assert agrees(joint_by_recursion(case["p"], case["q"], case["tree"]), value)


@pytest.mark.parametrize("case", [case for case in cases("joint") if size(case.values[0]) == float("inf")])
def test_joint_of_large_trees(case):
    tree = case["tree"]
    if "regular" in tree:
        value = regular(case["p"], case["q"], **tree["regular"])
    else:
        value = chain(case["p"], case["q"], tree["chain"])
    assert agrees(value, case["value"])


def test_joint_to_the_letter():
    p, q = (cases("observed")[3].values[0][who] for who in "pq")
    tree = {"parent": [-1, 0, 0, 1]}
    assert agrees(joint_by_words(p, q, tree), joint(p, q, tree), mp.mpf(10) ** -45)


@pytest.mark.parametrize("case", cases("rate"))
def test_rate(case):
    # The reference took some of these limits by averaging, right to 1e-18.
    assert agrees(rate(case["p"], case["q"]), case["value"], mp.mpf(10) ** -18)


@pytest.mark.parametrize("case", cases("renyi"))
def test_renyi(case):
    arguments = case["p"], case["q"], case["tree"], case["alpha"]
    assert agrees(renyi_by_recursion(*arguments), case["value"])


def test_renyi_by_enumeration():
    case = cases("renyi")[0].values[0]
    arguments = case["p"], case["q"], {"parent": [-1, 0, 0, 1]}, case["alpha"]
    assert agrees(renyi(*arguments), renyi_by_recursion(*arguments), mp.mpf(10) ** -45)


def test_until_end():
    case = cases("until_end")[0].values[0]
    assert agrees(until_end(case["p"], case["q"]), case["value"])


def test_until_end_to_the_letter():
    """Left to right without staying: no path is longer than the number of states."""
    emission = [{"family": "poisson", "rate": rates} for rates in ([1.0, 2.0, 3.0], [2.0, 1.0, 3.5])]
    p = {"initial": [0.5, 0.25, 0.25], "transition": [[0, 0.5, 0.25], [0, 0, 0.75], [0, 0, 0]], "end": [0.25, 0.25, 1]}
    q = {"initial": [0.25, 0.5, 0.25], "transition": [[0, 0.25, 0.25], [0, 0, 0.5], [0, 0, 0]], "end": [0.5, 0.5, 1]}
    p, q = {**p, "emission": emission[0]}, {**q, "emission": emission[1]}
    assert agrees(until_end(p, q), until_end_by_paths(p, q, 3), mp.mpf(10) ** -38)


@pytest.mark.parametrize("case", small("posterior", "influence"))
def test_posterior(case):
    p, q, tree, evidence = (case[key] for key in ("p", "q", "tree", "evidence"))
    value = posterior(p, q, tree, evidence, case.get("target", "states"), case.get("evidence_q"))
    assert agrees(value, case["value"])
    if case.get("target") != "unobserved":
        assert agrees(posterior_by_recursion(p, q, tree, evidence, case.get("evidence_q")), value)
    for model, expected in zip((p, q), case.get("loglik", ()), strict=False):
        assert agrees(log_likelihood(model, tree, evidence), expected)
        assert agrees(conditional_law(model, tree, evidence)[2], expected)


@LAW
@given(pairs(), listed_trees(5), st.data())
def test_posterior_by_enumeration_and_by_recursion(pair, tree, data):
    p, q = pair
    known = data.draw(evidence(p, len(tree["parent"])))
    value = posterior(p, q, tree, known)
    assert value >= 0
    assert abs(posterior_by_recursion(p, q, tree, known) - value) <= mp.mpf(10) ** -40
    assert posterior(p, q, tree, known, "unobserved") >= value


def test_impossible():
    case = cases("impossible")[0].values[0]
    with pytest.raises(Impossible, match="q"):
        posterior(case["p"], case["q"], case["tree"], case["evidence"])


def test_smoothing_and_entropy():
    case = next(case.values[0] for case in cases("posterior") if case.values[0]["name"] == "gaussian grouped tree")
    arguments = case["p"], case["tree"], case["evidence"]
    found, pairs = smooth(*arguments)
    for row, other, table in zip(found, marginals(*arguments), pairs, strict=True):
        assert all(agrees(a, b) for a, b in zip(row, other, strict=True))
        assert table is pairs[0] or all(agrees(sum(r[s] for r in table), row[s]) for s in range(len(row)))
    assert agrees(sum(entropy_profile(*arguments)), posterior_entropy(*arguments))


@pytest.mark.parametrize("case", small("influence"))
def test_influence(case):
    values = influence(case["p"], case["tree"], case["evidence"])
    assert agrees(values[case.get("node", -1)], case["value"])


@pytest.mark.parametrize("case", [case for case in further("observed") if case.values[0]["tree"].get("chain", 9) <= 5])
def test_observed(case):
    # The table gives 15 digits.
    assert agrees(observed(case["p"], case["q"], case["tree"]), case["value"], mp.mpf(10) ** -14)


@pytest.mark.parametrize("case", further("joint", "rate", "posterior"))
def test_values_of_the_paper(case):
    p, q = case["p"], case["q"]
    if case["what"] == "rate":
        value = rate(p, q)
    elif case["what"] == "joint":
        value = joint_by_recursion(p, q, case["tree"])
    else:
        value = posterior_by_recursion(p, q, case["tree"], [{"x": x} for x in case["x"]])
    assert agrees(value, case["value"], case["rtol"])
