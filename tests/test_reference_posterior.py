"""The reference values of posterior divergences, log-likelihoods, influences and impossible evidence."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import ImpossibleEvidence

from .loading import cases, further, models, tree, within


def compared(case):
    """posterior_kl as the case asks for it."""
    p, q = models(case)
    options = {"target": case["target"]} if "target" in case else {}
    if "evidence_q" in case:
        options["evidence_q"] = hd.Evidence.from_list(case["evidence_q"])
    return hd.posterior_kl(p, q, hd.Evidence.from_list(case["evidence"]), tree(case["tree"]), **options)


@pytest.mark.parametrize("case", cases("posterior", "influence"))
def test_posterior(case):
    result = compared(case)
    assert within(result.value, case["value"], case["rtol"]), (result.value, case["value"])
    assert result.quantity == "posterior"
    assert result.status == "exact"
    assert bool(result.infinite) == (case["value"] == "inf")


@pytest.mark.parametrize("case", cases("posterior"))
def test_profile_sums_to_the_value(case):
    result = compared(case)
    assert within(np.sum(result.by_node), result.value, 1e-12)


@pytest.mark.parametrize("case", [case for case in cases("posterior") if "loglik" in case.values[0]])
def test_log_likelihood(case):
    evidence = hd.Evidence.from_list(case["evidence"])
    for model, value in zip(models(case), case["loglik"], strict=True):
        assert within(hd.log_likelihood(model, evidence, tree(case["tree"])), value, 1e-12)


@pytest.mark.parametrize("case", cases("influence"))
def test_influence(case):
    p, _ = models(case)
    values = hd.influence(p, hd.Evidence.from_list(case["evidence"]), tree(case["tree"]))
    assert within(values[case.get("node", -1)], case["value"], case["rtol"])


@pytest.mark.parametrize("case", cases("impossible"))
def test_impossible_evidence_names_model_and_node(case):
    with pytest.raises(ImpossibleEvidence) as caught:
        compared(case)
    message = str(caught.value)
    assert "\n" not in message
    assert re.search(r"\bq\b", message)
    assert re.search(r"node 1\b", message)  # the only symbol q cannot emit is there


@pytest.mark.parametrize("case", further("posterior"))
def test_posterior_of_the_paper(case):
    assert within(hd.posterior_kl(*models(case), case["x"]).value, case["value"], case["rtol"])


@pytest.mark.parametrize("case", further("log_likelihood"))
def test_log_likelihood_of_the_paper(case):
    assert within(hd.log_likelihood(hd.Model.from_dict(case["p"]), case["x"]), case["value"], case["rtol"])


@pytest.mark.parametrize("case", further("influence"))
def test_influence_of_the_paper(case):
    values = hd.influence(hd.Model.from_dict(case["p"]), case["x"])
    assert np.abs(values - np.array(case["value"], float)).max() < case["atol"]
