"""Fitting, against hmmlearn making the same iterations from the same start; and a forest of wavelet size."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import process_time

import numpy as np

import hidiv as hd
from benchmarks.timing import Row, interleaved

STATES, SEQUENCES, LENGTH, ITERATIONS = 10, 100, 1000, 5


def rows() -> Iterator[Row]:
    yield from gaussians()
    rng = np.random.default_rng(0)
    for name, build in (("gaussian", _gaussian), ("categorical", _categorical), ("poisson", _poisson)):
        truth, start, peer = build(rng)
        lengths = [LENGTH] * SEQUENCES
        x = np.concatenate([hd.sample(truth, LENGTH, seed=i)[1] for i in range(SEQUENCES)])
        seen = x[:, None] if name == "gaussian" else x[:, None].astype(np.int64)
        for implementation, goal in (("log", 0.5), ("scaling", None)):
            yield interleaved(
                f"fit, {name}, {ITERATIONS} iterations, K={STATES}, {SEQUENCES} x {LENGTH}",
                lambda x=x, start=start, lengths=lengths: hd.fit(
                    x, lengths=lengths, start=start, max_iter=ITERATIONS, tol=0.0
                ),
                f"hmmlearn, {implementation}",
                lambda seen=seen, peer=peer, lengths=lengths, how=implementation: peer(how).fit(seen, lengths),
                goal, rounds=3,
            )  # fmt: skip


def gaussians() -> Iterator[Row]:
    """An iteration of diagonal and of full covariances: the time of six iterations less that of one, over five."""
    from hmmlearn.hmm import GaussianHMM

    lengths = [LENGTH] * SEQUENCES
    for form in ("diag", "full"):
        for columns in (1, 13):
            rng = np.random.default_rng(columns)
            truth = hd.Model(
                *_chain(rng), hd.Gaussian(3 * rng.normal(size=(STATES, columns)), var=np.ones((STATES, columns)))
            )
            x = np.concatenate([hd.sample(truth, LENGTH, seed=i)[1].reshape(LENGTH, columns) for i in range(SEQUENCES)])
            initial, transition = _chain(rng)
            mean = truth.emission.mean + 0.5 * rng.normal(size=(STATES, columns))
            cov = np.full((STATES, columns), 2.0) if form == "diag" else np.repeat(2 * np.eye(columns)[None], STATES, 0)
            law = hd.Gaussian(mean, var=cov) if form == "diag" else hd.Gaussian(mean, cov=cov)
            start = hd.Model(initial, transition, law)
            none = {"means_weight": 0, "covars_prior": 0, "covars_weight": 0, "min_covar": 0}
            peer = _peer(
                GaussianHMM, initial, transition, {"means_": mean, "covars_": cov}, covariance_type=form, **none
            )

            def mine(iterations: int, x=x, start=start) -> None:  # type: ignore[no-untyped-def]
                hd.fit(x, lengths=lengths, start=start, max_iter=iterations, tol=0.0)

            def theirs(iterations: int, x=x, peer=peer) -> None:  # type: ignore[no-untyped-def]
                peer("scaling", iterations).fit(x, lengths)

            more = 6 if form == "diag" else 2  # an iteration of full covariances takes hmmlearn seconds
            yield step(
                f"fit, Gaussian {form}, K={STATES}, D={columns}, {SEQUENCES} x {LENGTH}, an iteration",
                mine,
                theirs,
                more,
            )


def step(work: str, mine, theirs, more: int, rounds: int = 5) -> Row:  # type: ignore[no-untyped-def]
    """One iteration of each, in processor time: threads and other programs do not show."""
    mine(1)
    theirs(1)
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, times in zip((mine, theirs), spent, strict=True):
            stamps = []
            for iterations in (1, more):
                begun = process_time()
                run(iterations)
                stamps.append(process_time() - begun)
            times.append((stamps[1] - stamps[0]) / (more - 1))
    return Row(work, "hmmlearn, scaling; processor time", median(spent[0]), median(spent[1]), 0.25)


def _law(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])


def _chain(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return _law(rng, 1, STATES)[0], 0.5 * np.eye(STATES) + 0.5 * _law(rng, STATES, STATES)


def _peer(cls: type, initial: np.ndarray, transition: np.ndarray, parts: dict, **settings):  # type: ignore[no-untyped-def,type-arg]
    """Makes the hmmlearn model at the start, once a run: its fit changes it."""

    def made(implementation: str, iterations: int = ITERATIONS):  # type: ignore[no-untyped-def]
        model = cls(
            STATES, n_iter=iterations, tol=-np.inf, init_params="", implementation=implementation, **settings
        )  # fmt: skip
        model.startprob_, model.transmat_ = initial.copy(), transition.copy()
        for key, value in parts.items():
            setattr(model, key, value.copy())
        return model

    return made


def _gaussian(rng: np.random.Generator):  # type: ignore[no-untyped-def]
    from hmmlearn.hmm import GaussianHMM

    truth = hd.Model(*_chain(rng), hd.Gaussian(5 * rng.normal(size=STATES), var=np.ones(STATES)))
    initial, transition = _chain(rng)
    mean, var = truth.emission.mean + rng.normal(size=STATES), np.full(STATES, 2.0)
    none = {"means_weight": 0, "covars_prior": 0, "covars_weight": 0, "min_covar": 0}
    parts = {"means_": mean[:, None], "covars_": var[:, None]}
    peer = _peer(GaussianHMM, initial, transition, parts, covariance_type="diag", **none)
    return truth, hd.Model(initial, transition, hd.Gaussian(mean, var=var)), peer


def _categorical(rng: np.random.Generator):  # type: ignore[no-untyped-def]
    from hmmlearn.hmm import CategoricalHMM

    truth = hd.Model(*_chain(rng), hd.Categorical(_law(rng, STATES, 20)))
    initial, transition = _chain(rng)
    probs = _law(rng, STATES, 20)
    peer = _peer(CategoricalHMM, initial, transition, {"emissionprob_": probs}, n_features=20)
    return truth, hd.Model(initial, transition, hd.Categorical(probs)), peer


def _poisson(rng: np.random.Generator):  # type: ignore[no-untyped-def]
    from hmmlearn.hmm import PoissonHMM

    truth = hd.Model(*_chain(rng), hd.Poisson(np.linspace(1, 40, STATES)))
    initial, transition = _chain(rng)
    rate = np.linspace(2, 50, STATES)
    peer = _peer(PoissonHMM, initial, transition, {"lambdas_": rate[:, None]}, lambdas_prior=0, lambdas_weight=0)
    return truth, hd.Model(initial, transition, hd.Poisson(rate)), peer
