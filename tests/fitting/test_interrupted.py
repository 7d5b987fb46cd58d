"""Ctrl-C gives back the best model so far, with a note."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

import hidiv as hd
from hidiv.fitting import em

X = hd.sample(
    hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 2.0], std=[1.0, 1.0])), 150, size=2, seed=1
)[1]


@pytest.fixture
def press(monkeypatch):
    """Ctrl-C at an expectation step, counted over all threads from 1."""

    def after(steps):
        made, lock, step = [0], threading.Lock(), em.expectation

        def counted(*args):
            with lock:
                made[0] += 1
                now = made[0] == steps
            if now:
                if threading.current_thread() is threading.main_thread():
                    raise KeyboardInterrupt
                signal.raise_signal(signal.SIGINT)  # Python hands it to the main thread
                time.sleep(0.05)
            return step(*args)

        monkeypatch.setattr(em, "expectation", counted)

    return after


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("steps", [80, 400])
def test_the_best_so_far(press, workers, steps):
    """In the first climbs, and in those of the best of them."""
    press(steps)
    found = hd.fit(list(X), None, 4, "gaussian", n_init=5, seed=0, tol=1e-12, workers=workers)
    assert any("interrupted" in note for note in found.notes)
    assert not found.converged
    assert found.log_likelihood in found.starts
    assert len(found.starts) > 1
    assert abs(found.log_likelihood - sum(hd.log_likelihood(found.model, x) for x in X)) < 1e-9
    assert (np.diff(found.history) >= 0).all()


def test_the_candidates_done_so_far(press):
    whole = hd.choose(list(X), None, (1, 2), "gaussian", n_init=1, seed=0)
    steps = sum(each.fit.n_iter + 1 for each in whole.candidates)
    press(steps + 3)
    found = hd.choose(list(X), None, (1, 2, 3), "gaussian", n_init=1, seed=0)
    assert [each.n_states for each in found.candidates] == [each.n_states for each in whole.candidates]
    press(2)
    with pytest.raises(KeyboardInterrupt):
        hd.choose(list(X), None, (1, 2), "gaussian", n_init=1, seed=0)


def test_the_replicates_made_so_far(press):
    start = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 2.0], std=[1.0, 1.0]))
    settings = {"replicates": 40, "null": False, "seed": 0, "max_iter": 4}
    whole = hd.bootstrap_divergence(start, start, X[0], X[1], **settings)
    press(100)
    found = hd.bootstrap_divergence(start, start, X[0], X[1], **settings)
    assert 2 <= len(found.replicates) < 40
    np.testing.assert_array_equal(found.replicates, whole.replicates[: len(found.replicates)])


def test_one_climb(press):
    press(8)
    start = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.4, 0.6]], hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]))
    found = hd.fit(list(X), start=start)
    assert found.n_iter == 6  # the first step is the start's, the eighth was not finished
    assert found.notes == ("interrupted after 6 iterations", "not converged after 6 iterations")
