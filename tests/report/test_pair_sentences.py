"""What the page says about labels where the joint divergence is infinite, and about trees."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import hidiv as hd
from hidiv.report.pair_page import pair_page

STAYS = [[0.8, 0.2], [0.1, 0.9]]
P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.05, 0.9, 0.05], [0.0, 0.2, 0.8]]), name="one")


def said(q: Any) -> str:
    """The page as text, without its markup."""
    html = re.sub(r"<(style|script)[^>]*>.*?</\1>", " ", pair_page(P, q, 5).html, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]+>", " ", html).split())


def test_an_infinite_divergence_never_says_that_labels_fit() -> None:
    other = hd.Model([0.5, 0.5], STAYS, hd.Categorical([[0.0, 0.2, 0.8], [0.0, 0.95, 0.05]]))
    words = said(other)
    assert "The joint divergence is infinite in every order of its states" in words
    assert "this one has 1 infinite term as well, and smaller finite ones" in words
    fits = hd.Model([0.5, 0.5], P.transition, hd.Categorical([[0.0, 0.95, 0.05], [0.0, 0.2, 0.8]]))
    words = said(fits)
    assert "no other order does better than the labels as given, with 1 infinite term." in words
    assert "as labelled" not in words.split("How this was computed")[0]
    fewer = hd.Model([0.5, 0.5], STAYS, hd.Categorical([[0.0, 0.2, 0.8], [0.0, 1.0, 0.0]]))
    assert "this one has 1 infinite term instead of 2" in said(fewer)


def test_a_page_about_a_tree_counts_whole_trees() -> None:
    near = hd.Model([0.5, 0.5], np.asarray(P.transition), hd.Categorical([[0.1, 0.85, 0.05], [0.1, 0.2, 0.7]]))
    page = pair_page(P, near, hd.Tree.regular(2, 3))
    assert "independent draws of the whole tree tell them apart" in page.html
    assert page.data["samples_to_tell_apart"][0]["counted"].startswith("independent draws of a regular tree")
    assert "Along a chain, about" in pair_page(P, near, 7).html


def test_labels_that_fit_need_no_table() -> None:
    near = hd.Model([0.5, 0.5], np.asarray(P.transition), hd.Categorical([[0.1, 0.85, 0.05], [0.1, 0.2, 0.7]]))
    words = said(near)
    assert "The labels of the states match: no other order of the states of q gives a smaller joint" in words
    assert "order that fits" not in words
    assert "The states of q are put in the order that fits one best." in said(near.relabel([1, 0]))


def test_bits_that_q_cannot_have_are_named() -> None:
    p = hd.Model([1.0], [[1.0]], hd.Bernoulli([[0.5, 0.2]]), name="wet", column_names=["acid", "heat"])
    q = hd.Model([1.0], [[1.0]], hd.Bernoulli([[0.0, 1.0]]), name="dry", column_names=["acid", "heat"])
    page = pair_page(p, q, 5).html
    assert "acid in state 0: 0.5 in wet, 0 in dry" in page
    assert "no heat in state 0: 0.8 in wet, 0 in dry" in page
    assert "wet can show " in page
    assert page.count('guilty" data-r') == 2


def test_the_parameter_that_makes_the_difference_is_named() -> None:
    # The covariance changes more as a share of itself, the mean more as a share of the divergence.
    p = hd.Model([1.0], [[1.0]], hd.Gaussian([[1.0, 2.0]], cov=[[[1.0, 0.01], [0.01, 1.0]]]))
    q = hd.Model([1.0], [[1.0]], hd.Gaussian([[1.0, 2.5]], cov=[[[1.0, -0.02], [-0.02, 1.0]]]))
    assert "What is seen in state 0 differs (mean 1 is 2 in p and 2.5 in q)" in pair_page(p, q, 5).html


def test_the_share_of_the_initial_law_is_said_once_and_of_the_pair_that_is_shown() -> None:
    q = hd.Model([1e-30, 1.0], P.transition, hd.Categorical([[0.06, 0.9, 0.04], [0.1, 0.2, 0.7]]), name="two")
    page = pair_page(P, q.relabel([1, 0]), 5).html
    aligned = page.split('data-way="labelled"')[0]
    assert aligned.count("is the initial law") == 1


def test_states_that_belong_together_are_drawn_together() -> None:
    p = hd.Model([0.5, 0.5], STAYS, hd.Gaussian([0.0, 5.0], std=[1.0, 1.0]))
    q = hd.Model(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), hd.Gaussian([5.1, 0.1, 4.9], std=[1.0, 1.0, 1.0]))
    page = pair_page(p, q, 5).html
    titles = re.findall(r'class="panel"><figcaption>([^<]*)<', page)
    assert titles == ["state 1 with state 0", "state 0 with state 1", "state 1 with state 2"]


def test_one_observation_is_one() -> None:
    """Each shows at once what the other never does."""
    other = hd.Model([0.5, 0.5], STAYS, hd.Categorical([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
    apart = hd.Model([0.5, 0.5], STAYS, hd.Categorical([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    page = pair_page(apart, other, 5).html
    assert "about 1 observation tells them apart" in page
    assert "1 observations" not in page
