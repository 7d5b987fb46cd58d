"""One way to report progress: a line, nothing, or a function that is told."""

from __future__ import annotations

import inspect
from inspect import isfunction

import pytest

import hidiv as hd
from hidiv.errors import HidivError
from hidiv.progress import Progress, reporting

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 1.0], std=[1.0, 2.0]))
Q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], hd.Gaussian([0.5, 1.0], std=[1.0, 2.0]))
X = list(hd.sample(P, 12, size=4, seed=1)[1])

DRAWN = {"method": "montecarlo", "max_samples": 300, "seed": 1}
CALLS = {
    "agreement": lambda progress: hd.agreement([P, Q], nodes=100, seed=1, progress=progress),
    "bayes_error": lambda progress: hd.bayes_error(P, Q, 30, **DRAWN, progress=progress),
    "bhattacharyya": lambda progress: hd.bhattacharyya(P, Q, 30, **DRAWN, progress=progress),
    "hellinger": lambda progress: hd.hellinger(P, Q, 30, **DRAWN, progress=progress),
    "total_variation": lambda progress: hd.total_variation(P, Q, 30, **DRAWN, progress=progress),
    "jensen_shannon": lambda progress: hd.jensen_shannon(P, Q, 30, **DRAWN, progress=progress),
    "differ": lambda progress: hd.differ(
        [X, X], model=P, n_init=1, max_iter=2, permutations=9, seed=0, progress=progress
    ),
    "divergence_interval": lambda progress: hd.divergence_interval(
        P, Q, [X, X], [X, X], on=3, method="bootstrap", replicates=2, seed=1, progress=progress
    ),
    "fit_many": lambda progress: hd.fit_many([X, X], None, 1, n_init=1, max_iter=2, seed=0, progress=progress),
    "pairwise": lambda progress: hd.pairwise([P, Q], 4, measure="product_kernel", progress=progress),
    "bootstrap_divergence": lambda progress: hd.bootstrap_divergence(
        P, P, X, X, replicates=2, max_iter=2, seed=1, progress=progress
    ),
    "choose": lambda progress: hd.choose(
        X, None, (1, 2), "gaussian", n_init=1, max_iter=3, polish=False, seed=0, progress=progress
    ),
    "compare": lambda progress: hd.compare(P, Q, 5, max_seconds=0.2, progress=progress),
    "fit": lambda progress: hd.fit(X, None, 2, n_init=1, max_iter=3, seed=0, progress=progress),
    "montecarlo": lambda progress: hd.montecarlo(P, Q, 4, samples=50, seed=1, progress=progress),
    "nearest": lambda progress: hd.nearest([P], [P, Q], 4, 1, quantity="aligned", progress=progress),
    "observed_kl": lambda progress: hd.observed_kl(
        P, Q, 4, method="montecarlo", max_samples=500, seed=1, progress=progress
    ),
    "observed_kl_rate": lambda progress: hd.observed_kl_rate(
        P, Q, method="montecarlo", max_samples=8, seed=1, progress=progress
    ),
    "pairwise_kl": lambda progress: hd.pairwise_kl([P, Q], 4, progress=progress),
    "reduce": lambda progress: hd.reduce(P, 1, nodes=200, seed=1, progress=progress),
    "samples_to_tell_apart": lambda progress: hd.samples_to_tell_apart(P, Q, 0.01, max_seconds=0.5, progress=progress),
}


def test_every_parameter_of_that_name_is_tried():
    functions = {name: getattr(hd, name) for name in hd.__all__ if isfunction(getattr(hd, name))}
    assert {name for name, each in functions.items() if "progress" in inspect.signature(each).parameters} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_is_told(name):
    told = []
    CALLS[name](lambda done, total: told.append(done / total))
    assert told
    assert all(0 <= share <= 1 for share in told)


@pytest.mark.parametrize("name", CALLS)
def test_true_shows_a_line_and_false_none(name, capsys):
    CALLS[name](True)
    shown = capsys.readouterr().err
    assert "[" in shown
    assert shown.endswith("\r")
    CALLS[name](False)
    CALLS[name](None)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", CALLS)
def test_anything_else_is_refused(name):
    with pytest.raises(HidivError, match="^progress: must be True, False, None or a function"):
        CALLS[name]("yes")


def test_what_is_wanted_ends_with_the_call(capsys):
    with reporting(True), reporting(None):  # None leaves it as it is
        Progress("a").show(0.5)
    assert "a [############------------]" in capsys.readouterr().err
    Progress("b").show(0.5)
    assert capsys.readouterr().err == ""


def test_choosing_is_one_piece_of_work():
    shares = []
    hd.choose(
        X, None, (1, 2), by="held-out", folds=2, n_init=1, max_iter=3, seed=0, progress=lambda *s: shares.append(s)
    )
    assert shares == sorted(shares)
    assert shares[0][0] < 1 / 6
    assert shares[-1][0] > 5 / 6
