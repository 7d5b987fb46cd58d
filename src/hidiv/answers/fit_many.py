"""`fit_many`: one model for each of many data sets, in processes or on Dask, resumable, failures told apart."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from hidiv.answers.jobs import Executor, as_done
from hidiv.arguments import Seed, generator, whole
from hidiv.comparison.collection.collection import Collection
from hidiv.errors import HidivError, InvalidEvidence, InvalidFile, counted, refuse
from hidiv.files.loading import load
from hidiv.files.saving import save
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.fitting.fit import fit
from hidiv.fitting.fit_result import FitResult
from hidiv.fitting.shapes import PARTS, shape_of
from hidiv.progress import Wanted, reported

SHOWN = 3  # failures named in a repr


@dataclass(frozen=True, init=False, eq=False, repr=False)
class FittedCollection(Collection):
    """The models of many data sets; returned by `hd.fit_many`. A Collection, with what became of every data set.

    Parameters
    ----------
    fits : mapping
        Name -> FitResult.
    failures : mapping
        Name -> reason.

    Attributes
    ----------
    fits : dict
        Name -> FitResult of every data set that was fitted, in the order of the models.
    failures : dict
        Name -> why a data set could not be fitted.

    Examples
    --------
    >>> import hidiv as hd
    >>> found = hd.fit_many({"a": [0, 1, 0, 2], "b": [5, 7, 4, 6]}, None, 1, "poisson", n_init=1, seed=0)
    >>> found.names, found.failures
    (('a', 'b'), {})
    """

    fits: dict[str, FitResult]
    failures: dict[str, str]

    def __init__(self, fits: Mapping[str, FitResult], failures: Mapping[str, str]) -> None:
        super().__init__([each.model.renamed(name) for name, each in fits.items()])
        object.__setattr__(self, "fits", dict(fits))
        object.__setattr__(self, "failures", dict(failures))

    def __repr__(self) -> str:
        text = super().__repr__()
        if not self.failures:
            return text
        some = "; ".join(f"{name}: {why}" for name, why in list(self.failures.items())[:SHOWN])
        more = "" if len(self.failures) <= SHOWN else f"; and {len(self.failures) - SHOWN} more"
        return f"{text}; {counted(len(self.failures), 'data set')} failed ({some}{more})"


@reported
def fit_many(
    datasets: Any,
    tree: Any = None,
    n_states: int = 2,
    emission: Any = "gaussian",
    *,
    by: str | None = None,
    executor: Executor = None,
    store: str | os.PathLike[str] | None = None,
    seed: Seed = None,
    progress: Wanted = None,  # for @reported
    **settings: Any,
) -> FittedCollection:
    """Fit one model to each of many data sets.

    Parameters
    ----------
    datasets : dict, list, or DataFrame
        The data sets: by name, in order (named "0", "1", ...), or the rows of a table with equal values in column `by`.
        Each is what `hd.fit` takes: one sequence, or a list of them.
    tree : Tree, int, or dict or list of these, optional
        One tree for all, or one (or a list) for each data set. By default chains.
    n_states : int, default 2
        The number of hidden states of every model.
    emission : str, family class, family or list of these, default "gaussian"
        The family, as in `hd.fit`. Alphabets of text are those of all data sets together.
    by : str, optional
        The column of a DataFrame that names the data set of each row.
    executor : None, "serial", "processes", concurrent.futures.Executor or Dask client, optional
        Where the fits run. By default in threads.
    store : path, optional
        A folder for finished fits, one file each. A data set whose fit is there already, with the same data and
        settings, is not fitted again: work that was interrupted goes on where it stopped.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same models again, whatever the executor.
    progress : bool or callable, optional
        None shows a line on a terminal after a second, True always, False never; a function is called with (done,
        total).
    **settings
        All other keyword arguments of `hd.fit`.

    Returns
    -------
    FittedCollection
        A Collection of the models, named after their data sets, with `fits` and `failures`.

    Raises
    ------
    HidivError
        Where no data set could be fitted; the message is that of the first.

    Notes
    -----
    A data set that cannot be fitted is listed in `failures` with the reason and does not stop the others. Ctrl-C
    returns what is finished; the rest is listed as interrupted.

    Examples
    --------
    >>> import hidiv as hd
    >>> data = {"a": [0, 1, 0, 2], "b": [5, 7, 4, 6], "c": [-1, 2]}
    >>> found = hd.fit_many(data, None, 1, "poisson", n_init=1, seed=0)
    >>> found
    Collection of 2 models: 1 state, poisson emission; 1 data set failed (c: x[0]: poisson observations are whole \
numbers from 0, got -1.0)
    """
    named = _named(datasets, by)
    n_states = whole("n_states", n_states)
    parts, failures = _forests(named, _trees(tree, named))
    if not parts:
        _refuse_all(failures)
    parts, family = _alike(parts, n_states, emission, settings)
    seeds = dict(zip(parts, generator(seed).spawn(len(parts)), strict=True))
    files = {} if store is None else _files(store, parts, n_states, family, seed, settings)
    fits = {name: kept for name in parts if (kept := _kept(files.get(name))) is not None}
    jobs = [(name, part, seeds[name]) for name, part in parts.items() if name not in fits]
    alone = {} if executor in (None, "serial") else {"workers": 1}
    work = partial(_fitted, n_states=n_states, emission=family, settings={**alone, **settings})
    try:
        for i, result in as_done(work, jobs, executor, "fitting data sets"):
            name = jobs[i][0]
            if isinstance(result, str):
                failures[name] = result
                continue
            fits[name] = result
            if name in files:
                save(result, files[name])
    except KeyboardInterrupt:
        if not fits:
            raise
        failures |= {name: "interrupted" for name, *_ in jobs if name not in fits and name not in failures}
    if not fits:
        _refuse_all(failures)
    ordered = {name: fits[name] for name in named if name in fits}
    return FittedCollection(ordered, {name: failures[name] for name in named if name in failures})


def _named(datasets: Any, by: str | None) -> dict[str, Any]:
    """Name -> data set."""
    if hasattr(datasets, "groupby"):
        if by is None or by not in datasets.columns:
            rule = "must name the column of the table that tells the data sets apart"
            refuse(HidivError, "by", rule, by, f"columns are {', '.join(map(str, datasets.columns))}")
        named = {str(key): rows.drop(columns=by) for key, rows in datasets.groupby(by, sort=False)}
    elif isinstance(datasets, Mapping):
        named = {str(name): each for name, each in datasets.items()}
    elif isinstance(datasets, list | tuple):
        named = {str(i): each for i, each in enumerate(datasets)}
    else:
        refuse(HidivError, "datasets", "must be a dict, a list or a DataFrame with `by`", type(datasets).__name__)
    if not named:
        refuse(InvalidEvidence, "datasets", "must not be empty")
    return named


def _trees(tree: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> tree, or list of trees, of the data set."""
    if isinstance(tree, Mapping):
        return {name: tree.get(name) for name in named}
    if isinstance(tree, list | tuple):
        if len(tree) != len(named):
            rule = f"must be one tree, or one for each of the {counted(len(named), 'data set')}"
            refuse(HidivError, "tree", rule, len(tree))
        return dict(zip(named, tree, strict=True))
    return dict.fromkeys(named, tree)


def _forests(named: Mapping[str, Any], trees: Mapping[str, Any]) -> tuple[dict[str, EvidenceForest], dict[str, str]]:
    """Every data set as a forest, and why some are none."""
    parts: dict[str, EvidenceForest] = {}
    failures: dict[str, str] = {}
    columns: int | None = None
    for name, each in named.items():
        try:
            part = forest_of(each, trees[name], None, None)
        except HidivError as error:
            failures[name] = str(error)
            continue
        if part.evidence.has_numbers:
            columns = part.evidence.n_features if columns is None else columns
            if part.evidence.n_features != columns:
                failures[name] = f"has {counted(part.evidence.n_features, 'column')} where the first has {columns}"
                continue
        parts[name] = part
    return parts, failures


def _alike(
    parts: dict[str, EvidenceForest], n_states: int, emission: Any, settings: Mapping[str, Any]
) -> tuple[dict[str, EvidenceForest], Any]:
    """The data sets with one numbering of symbols, and the form of the families that all of them ask for."""
    both = forest_of([part.evidence for part in parts.values()], None, None, None)
    groups = [part.group for part in parts.values()]
    known = [group for group in groups if group is not None]
    whole_group = np.concatenate(known) if len(known) == len(groups) else None
    alike = {
        name: replace(part, evidence=both.take(np.array([i])).evidence) for i, (name, part) in enumerate(parts.items())
    }
    if settings.get("start") is not None:
        return alike, emission
    everything = EvidenceForest(both.start, None, whole_group, both.evidence)
    shape = shape_of(everything, n_states, emission, settings.get("grouped", PARTS), bool(settings.get("end", False)))
    return alike, list(shape.emissions) if len(shape.emissions) > 1 else shape.emissions[0]


def _fitted(
    job: tuple[str, EvidenceForest, np.random.Generator], *, n_states: int, emission: Any, settings: Mapping[str, Any]
) -> FitResult | str:
    """The fit of one data set without its data, or why there is none."""
    _, part, rng = job
    try:
        result = fit(part, None, n_states, emission, seed=rng, **settings)
    except (HidivError, ArithmeticError, np.linalg.LinAlgError) as error:
        return str(error)
    if any(note.startswith("interrupted") for note in result.notes):
        raise KeyboardInterrupt
    return replace(result, data=None)


def _files(
    store: str | os.PathLike[str],
    parts: Mapping[str, EvidenceForest],
    n_states: int,
    family: Any,
    seed: Any,
    settings: Mapping[str, Any],
) -> dict[str, str]:
    """Name -> the file of its fit, named by what it was computed from."""
    folder = os.fspath(store)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        refuse(InvalidFile, folder, "cannot be made a folder for fits", error.strerror)
    how = json.dumps(
        [n_states, repr(family), repr(seed), sorted((key, repr(value)) for key, value in settings.items())]
    )
    return {name: os.path.join(folder, f"fit-{_digest(name, part, how)}.json") for name, part in parts.items()}


def _digest(name: str, part: EvidenceForest, how: str) -> str:
    evidence = part.evidence
    state = hashlib.sha256(f"{name}\n{how}\n{evidence.symbol_names}".encode())
    tables = (evidence.x, evidence.lower, evidence.upper, evidence.allowed, evidence.symbols)
    for table in (part.start, part.parent, part.group, *tables):
        state.update(b"-" if table is None else np.ascontiguousarray(table).tobytes())
    state.update(repr((evidence.symbol_sets, evidence.state_sets)).encode())
    return state.hexdigest()[:24]


def _kept(path: str | None) -> FitResult | None:
    """The fit in a file; None without one."""
    if path is None or not os.path.exists(path):
        return None
    stored = load(path)
    return stored if isinstance(stored, FitResult) else None


def _refuse_all(failures: Mapping[str, str]) -> NoReturn:
    name, why = next(iter(failures.items()))
    refuse(HidivError, f"datasets[{name!r}]", f"none of {counted(len(failures), 'data set')} could be fitted: {why}")
