"""The posterior divergence along each of many sequences in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.adapters.as_model import as_models
from hidiv.arguments import whole
from hidiv.divergences.posterior.kl import check_posterior, pair_tables, refuse_if_impossible
from hidiv.divergences.posterior.pair_rows import weigher
from hidiv.errors import IncompatibleModels, InvalidEvidence, counted, refuse
from hidiv.inference.rows import evidence_and_tree, lay_out
from hidiv.inference.weights import FAR
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.normal_rows import NormalPair
from hidiv.recursions.posterior_batch import (
    PosteriorBatch,
    faint_sequences,
    posterior_batch,
    posterior_normal_sequences,
)
from hidiv.recursions.posterior_sweep import SHOWN
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, IntArray


def posterior_kl_batch(
    p: Any, q: Any, x: Any, lengths: ArrayLike | None = None, *, threads: int | None = None
) -> Array:
    """Posterior divergence along each of many sequences.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with equal numbers of states and one group.
    x : list of arrays, or array
        The observed sequences, or all of them stacked with their `lengths`.
    lengths : sequence of int, optional
        The lengths of stacked sequences.
    threads : int, optional
        How many threads to use; all cores when left out. The results are the same bits whatever their number.

    Returns
    -------
    array of shape (n_sequences,)
        `posterior_kl` of each sequence in nats; +inf where p's posterior reaches what q excludes.

    Raises
    ------
    IncompatibleModels
        Where the models have different numbers of states, or several groups.
    ImpossibleEvidence
        Where either model cannot produce a sequence.

    Notes
    -----
    Definitions (2.2), the states given the observations.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.7], [0.6, 0.4]]))
    >>> hd.posterior_kl_batch(p, q, [[0, 1], [1, 1, 0]])
    array([0.12262213, 0.18583922])
    """
    p, q = as_models(p, q)
    check_posterior(p, q, "states", None)
    if max(p.n_groups, q.n_groups) > 1:
        refuse(IncompatibleModels, "groups", "sequences of different lengths need models with one group")
    values, start = stacked(x, lengths)
    at_most = 0 if threads is None else whole("threads", threads)
    known, place = evidence_and_tree(values, None)  # one long chain; `start` cuts it into sequences
    results = _of_normal_laws(p, q, known, place, start, at_most)
    if results is None:
        results = _of_tables(p, q, known, place, start, at_most)
    if results.impossible.any():
        first = int(np.argmax(results.impossible))
        refuse_if_impossible(p, q, results.one(first), f"sequence {first}")
    return results.values


def _of_tables(p: Model, q: Model, known: Evidence, place: Tree, start: IntArray, threads: int) -> PosteriorBatch:
    tables, layout = pair_tables(p, q, known, place, "states", None, start[1:] - 1)
    return posterior_batch(tables, layout, start, threads)


def _of_normal_laws(
    p: Model, q: Model, known: Evidence, place: Tree, start: IntArray, threads: int
) -> PosteriorBatch | None:
    """The results where all that is known are values of independent normal columns; None where tables are the way."""
    weigh = weigher(p, q)
    fast = None if weigh is None else weigh.fast
    if p.end is not None or not isinstance(fast, NormalPair) or fast.p[1].shape[1] != 1:
        return None
    rows = lay_out(known, place, p)
    if not rows.plain or rows.row_of is not None:
        return None
    laws = (p.initial, p.transitions), (q.initial, q.transitions)
    between = log_ratio(p.initial, q.initial), log_ratio(p.transitions, q.transitions)
    normal = np.ascontiguousarray(rows.x), fast.p, fast.q, fast.between
    found = posterior_normal_sequences(start, *laws, between, normal, FAR, threads)
    if found is None:
        return None
    results = PosteriorBatch(*found)
    faint = faint_sequences(results.numbers, start, lambda: (*between, fast(rows.x[:SHOWN], False)[2]))
    if faint.size:
        some = np.concatenate([np.arange(start[i], start[i + 1]) for i in faint])
        starts = np.concatenate([[0], np.cumsum(np.diff(start)[faint])])
        again = _of_tables(p, q, *evidence_and_tree(rows.x[some], None), starts, threads)
        results.numbers[faint], results.places[faint] = again.numbers, again.places
    return results


def stacked(x: Any, lengths: ArrayLike | None) -> tuple[Any, IntArray]:
    """All sequences stacked, and (n_sequences + 1,) the row at which each starts and the last one ends."""
    if lengths is None:
        if not isinstance(x, list | tuple) or not x:
            refuse(
                InvalidEvidence, "x", "must be a non-empty list of sequences", remedy="give lengths with stacked ones"
            )
        arrays = [np.asarray(sequence) for sequence in x]
        for i, array in enumerate(arrays):
            if array.ndim not in (1, 2) or array.ndim != arrays[0].ndim or array.shape[1:] != arrays[0].shape[1:]:
                refuse(InvalidEvidence, f"x[{i}]", "must have the columns of the first sequence", array.shape)
        counts = [len(array) for array in arrays]
        values = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    else:
        values = np.asarray(x)
        counts = np.asarray(lengths).tolist()
        if not isinstance(counts, list) or not all(type(n) is int for n in counts):
            refuse(InvalidEvidence, "lengths", "must be a list of whole numbers", lengths)
        if sum(counts) != len(values):
            refuse(InvalidEvidence, "lengths", f"must add up to the {counted(len(values), 'row')} of x", sum(counts))
    for i, n in enumerate(counts):
        if n < 1:
            refuse(
                InvalidEvidence, f"x[{i}]" if lengths is None else f"lengths[{i}]", "a sequence has at least one row", n
            )
    return values, np.concatenate([[0], np.cumsum(counts)])
