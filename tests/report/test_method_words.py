"""How the numbers of a page were computed is said in sentences, with the names of the models."""

from __future__ import annotations

import re

import hidiv as hd
from hidiv.report.method_words import methods, promises

LAW = [[0.9, 0.1], [0.2, 0.8]]


def told(comparison):
    return {one["name"]: " ".join(one["how"]) for one in methods(comparison)}


def test_every_number_says_how_it_was_computed():
    wet, dry = (
        hd.Model([0.5, 0.5], LAW, hd.Gaussian([[0.0, m], [2.0, 1.0]], cov=[[[1.0, 0.3], [0.3, 1.0]]] * 2), name=name)
        for m, name in ((0.0, "wet"), (0.7, "dry"))
    )
    x = hd.sample(wet, 20, seed=0)[1]
    found = hd.compare(wet, dry, evidence=x)
    said = told(found)
    assert set(said) == {
        "joint", "observed", "expected posterior", "posterior", "Do's bound", "joint rate", "observed rate",
        "expected posterior rate",
    }  # fmt: skip
    for words in said.values():
        assert re.match(r"[A-Z].*\.$", words)
        assert not re.search(r"\b[pq]\b", words)
    assert "how often wet is expected to use them" in said["joint"]
    assert found.observed.status == "estimate"
    assert "draws from wet" in said["observed"]
    assert f"{hd.log_likelihood(dry, x):.12g} under dry" in said["posterior"]
    assert [line.split()[1] for line in promises(found)] == ["exact", "estimate"]


def test_bounds_say_what_proves_them():
    p, q = (hd.Model([0.5, 0.5], LAW, hd.Categorical([[0.1, 0.9], [r, 1 - r]]), name=f"r{r}") for r in (0.6, 0.7))
    found = hd.compare(p, q, 100)
    assert found.observed.status == "certified"
    assert "The bounds are proven by " in told(found)["observed"]
    assert promises(found)[1] == "A certified number lies between bounds that are proven."
    assert "joint aligned" not in told(found)  # no other order is better, so that it would say the same
    turned = told(hd.compare(p, q.relabel([1, 0]), 100))
    assert turned["joint aligned"] == "The same with the states of r0.7 in the order that fits r0.6 best."


def test_names_that_look_like_other_models_are_kept():
    p, q = (
        hd.Model([0.5, 0.5], LAW, hd.Categorical([[0.1, 0.9], [r, 1 - r]]), name=n) for r, n in ((0.6, "q"), (0.7, "p"))
    )
    said = told(hd.compare(p, q, 100))
    assert "how often q is expected to use them" in said["joint"]
    zero = hd.Model([0.5, 0.5], [[1.0, 0.0], [0.2, 0.8]], q.emission, name="p")
    (note,) = hd.compare(p, zero, 5).notes
    assert "because p forbids 1 of 4 transitions that q takes" in note
