"""Gaussian, mixture and count models along sequences and on a tree, against hmmlearn and numpy doing the same.

In processor time, all threads: other programs show little.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np

import hidiv as hd
from benchmarks.memory import Megabytes
from benchmarks.timing import Row, interleaved
from benchmarks.trees import level_by_level

LENGTH = 100_000
ROUNDS = int(os.environ.get("HIDIV_BENCH_ROUNDS", "3"))


def rows() -> Iterator[Row | Megabytes]:
    for full, n_features in ((False, 1), (False, 3), (False, 10), (False, 39), (True, 3), (True, 10)):
        for n_states in (2, 4, 10):
            yield from chains(np.random.default_rng(1), n_states, n_features, full)
    yield from mixtures(np.random.default_rng(2))
    for n_states in (2, 10):
        for columns, size in ((1, 10.0), (1, 30_000.0), (3, 10.0), (3, 3000.0)):
            yield from counts(np.random.default_rng(4), n_states, columns, size)
    for n_states in (2, 4, 10):
        for family in ("exponential", "gamma", "beta", "von Mises", "log-normal", "Laplace"):
            yield from curves(np.random.default_rng(5), family, n_states)
    yield tree(np.random.default_rng(3))
    yield memory()


def chains(rng: np.random.Generator, n_states: int, n_features: int, full: bool) -> Iterator[Row]:
    """The four questions on one sequence, with models close and far apart."""
    name = f"Gaussian {'full' if full else 'diagonal'} D={n_features}, K={n_states}"
    laws = parameters(rng, n_states, n_features, full)
    p, close, far = (model(*laws, by) for by in (0.0, 1e-9, 0.3))
    peer, peer_far = in_hmmlearn(p), in_hmmlearn(far)
    x = hd.sample(p, LENGTH, seed=1)[1].reshape(LENGTH, n_features)
    scores = lambda: (peer.score(x), peer_far.score(x))  # noqa: E731
    for distance, q in (("close", close), ("far", far)):
        yield turns(
            f"posterior_kl, {name}, {distance}", lambda q=q: hd.posterior_kl(p, q, x),
            "two scores, scaling", scores, 0.5,
        )  # fmt: skip
    for work, run, against, other in (
        ("log_likelihood", lambda: hd.log_likelihood(p, x), "score", lambda: peer.score(x)),
        ("viterbi", lambda: hd.viterbi(p, x), "decode", lambda: peer.decode(x)),
        ("smooth", lambda: hd.smooth(p, x), "predict_proba", lambda: peer.predict_proba(x)),
    ):
        yield turns(f"{work}, {name}", run, against, other, 0.35)


def mixtures(rng: np.random.Generator) -> Iterator[Row]:
    """Three diagonal components of 13 columns."""
    from hmmlearn.hmm import GMMHMM

    n_states, components, n_features = 4, 3, 13
    initial, transition, _, _ = parameters(rng, n_states, 1, False)
    weights = rng.dirichlet(np.full(components, 3.0), n_states)
    mean, var = (
        2.0 * rng.normal(size=(components, n_states, n_features)),
        rng.uniform(0.5, 2.0, (components, n_states, n_features)),
    )
    p, q = (
        hd.Model(
            initial,
            transition,
            hd.Mixture(weights, [hd.Gaussian(m + by, var=v) for m, v in zip(mean, var, strict=True)]),
        )
        for by in (0.0, 0.1)
    )
    peer = GMMHMM(n_states, n_mix=components, covariance_type="diag", implementation="scaling")
    peer.startprob_, peer.transmat_, peer.weights_ = initial, transition, weights
    peer.means_, peer.covars_ = mean.transpose(1, 0, 2), var.transpose(1, 0, 2)
    peer.n_features = n_features
    x = hd.sample(p, LENGTH, seed=1)[1]
    name = f"{components} Gaussian components, D={n_features}, K={n_states}"
    yield turns(
        f"log_likelihood, {name}", lambda: hd.log_likelihood(p, x), "GMMHMM score, scaling", lambda: peer.score(x), 0.3,
    )  # fmt: skip
    yield turns(
        f"posterior_kl, {name}", lambda: hd.posterior_kl(p, q, x), "two GMMHMM scores, scaling",
        lambda: (peer.score(x), peer.score(x)), 0.3,
    )  # fmt: skip


def counts(rng: np.random.Generator, n_states: int, columns: int, size: float) -> Iterator[Row]:
    """Poisson counts of about this size."""
    from hmmlearn.hmm import PoissonHMM

    initial, transition, _, _ = parameters(rng, n_states, 1, False)
    rate = size * rng.uniform(0.5, 3.0, (n_states, columns))
    p, q = (hd.Model(initial, transition, hd.Poisson(rate * by)) for by in (1.0, 1.1))
    peer = PoissonHMM(n_states, implementation="scaling")
    peer.startprob_, peer.transmat_, peer.lambdas_, peer.n_features = initial, transition, rate, columns
    x = hd.sample(p, LENGTH, seed=1)[1].reshape(LENGTH, columns)
    whole = x.astype(np.int64)
    name = f"Poisson of about {size:g}, D={columns}, K={n_states}"
    score = lambda: peer.score(whole)  # noqa: E731
    yield turns(f"log_likelihood, {name}", lambda: hd.log_likelihood(p, x), "score", score, 0.35)
    yield turns(
        f"posterior_kl, {name}",
        lambda: hd.posterior_kl(p, q, x),
        "two scores, scaling",
        lambda: (score(), score()),
        0.5,
    )


def curves(rng: np.random.Generator, family: str, n_states: int) -> Iterator[Row]:
    """Other numbers: hmmlearn has no such model, and a few lines around scipy's densities make one."""
    from hmmlearn.base import BaseHMM
    from scipy import stats

    class Written(BaseHMM):  # type: ignore[misc]
        """What hmmlearn's manual says to write for emissions it does not have."""

        def _compute_log_likelihood(self, x: np.ndarray) -> np.ndarray:
            return np.asarray(self.density(x))

        def _compute_likelihood(self, x: np.ndarray) -> np.ndarray:
            return np.exp(self.density(x))

    low, high = rng.uniform(0.5, 6.0, (2, n_states))
    make, density = {
        "exponential": (lambda a, b: hd.Exponential(a), lambda x, a, b: stats.expon.logpdf(x, scale=1.0 / a)),
        "gamma": (hd.Gamma, lambda x, a, b: stats.gamma.logpdf(x, a, scale=1.0 / b)),
        "beta": (hd.Beta, stats.beta.logpdf),
        "von Mises": (hd.VonMises, lambda x, a, b: stats.vonmises.logpdf(x, b, a)),
        "Laplace": (hd.Laplace, lambda x, a, b: stats.laplace.logpdf(x, a, b)),
        "log-normal": (hd.LogNormal, lambda x, a, b: stats.lognorm.logpdf(x, b, scale=np.exp(a))),
    }[family]
    initial, transition, _, _ = parameters(rng, n_states, 1, False)
    p, q = (hd.Model(initial, transition, make(low * by, high / by)) for by in (1.0, 1.2))
    peers = []
    for by in (1.0, 1.2):
        peer = Written(n_states, implementation="scaling")
        peer.startprob_, peer.transmat_, peer.n_features = initial, transition, 1
        peer.density = lambda x, by=by: density(x, low * by, high / by)
        peer._check = lambda: None
        peers.append(peer)
    x = np.asarray(hd.sample(p, LENGTH, seed=1)[1])
    column = x[:, None]
    name, against = f"{family}, K={n_states}", "hmmlearn around scipy.stats,"
    yield turns(
        f"log_likelihood, {name}",
        lambda: hd.log_likelihood(p, x),
        f"{against} score",
        lambda: peers[0].score(column),
        0.35,
    )
    yield turns(
        f"posterior_kl, {name}", lambda: hd.posterior_kl(p, q, x),
        f"{against} two scores", lambda: [peer.score(column) for peer in peers], 0.5,
    )  # fmt: skip


def turns(work: str, run: Callable[[], object], against: str, peer: Callable[[], object], goal: float) -> Row:
    return interleaved(work, run, against, peer, goal, ROUNDS, clock=process_time)


def tree(rng: np.random.Generator) -> Row:
    """Weights and recursion of the quad-tree of 1.4 million nodes."""
    quad = hd.Tree(hd.Tree.regular(4, 11).parent)
    p, q = (
        hd.Model(
            rng.dirichlet([3, 3]), rng.dirichlet([3, 3], 2), hd.Gaussian(rng.normal(size=2), std=rng.uniform(1, 2, 2))
        )
        for _ in range(2)
    )
    x = rng.normal(size=quad.n_nodes)
    return turns(
        f"posterior_kl, quad-tree of {quad.n_nodes} nodes, Gaussian, end to end",
        lambda: hd.posterior_kl(p, q, x, quad),
        "level-vectorised numpy", lambda: level_by_level(p, q, x, quad), 1 / 15,
    )  # fmt: skip


CODE = """
import numpy as np, hidiv as hd
def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
rng = np.random.default_rng(1)
rows = rng.dirichlet(np.ones(4), 4)
p, q = (hd.Model(rows[0], rows, hd.Gaussian(rng.normal(size=(4, 3)), var=np.ones((4, 3)))) for _ in range(2))
hd.posterior_kl(p, q, rng.normal(size=(20000, 3)))
x = hd.Evidence(rng.normal(size=(10**7, 3)))
with open("/proc/self/clear_refs", "w") as f:
    f.write("5")  # the peak starts anew from what is held now
before = peak()
hd.posterior_kl(p, q, x)
print(peak() - before)
"""


def memory() -> Megabytes:
    """Peak memory beyond the evidence of ten million rows."""
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    return Megabytes(float(done.stdout), "posterior_kl, 1e7 rows, Gaussian D=3, K=4, value only")


def parameters(rng: np.random.Generator, n_states: int, n_features: int, full: bool) -> tuple[Any, ...]:
    """initial, transition, means, and variances or covariances."""
    transition = rng.dirichlet(np.full(n_states, 2.0), n_states) + 0.05
    transition /= transition.sum(axis=1, keepdims=True)
    mean = 2.0 * rng.normal(size=(n_states, n_features))
    root = 0.3 * rng.normal(size=(n_states, n_features, n_features))
    spread = root @ root.transpose(0, 2, 1) + np.eye(n_features) if full else rng.uniform(0.5, 2.0, mean.shape)
    return np.full(n_states, 1.0 / n_states), transition, mean, spread


def model(initial: Any, transition: Any, mean: Any, spread: Any, by: float) -> hd.Model:
    """Means and spreads moved by a share."""
    name = "cov" if spread.ndim == 3 else "var"
    return hd.Model(initial, transition, hd.Gaussian(mean + by, **{name: spread * (1.0 + by)}))


def in_hmmlearn(p: hd.Model) -> Any:
    """The same model, scaling implementation."""
    from hmmlearn.hmm import GaussianHMM

    family = p.emission
    full = family.cov is not None
    peer = GaussianHMM(p.n_states, covariance_type="full" if full else "diag", implementation="scaling")
    peer.startprob_, peer.transmat_ = p.initial, p.transitions[0]
    peer.n_features = family.n_features
    peer.means_, peer.covars_ = family.mean, family.cov if full else family.var
    return peer
