"""Draws of states and observations from a model, and of states given evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.arguments import Seed, generator, whole
from hidiv.errors import IncompatibleModels, refuse
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.model_tables import tables_of
from hidiv.models.model import Model, check_groups
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.posterior_draws import sample_states
from hidiv.recursions.tables import Layout, Tables
from hidiv.types import Array, IntArray

BLOCK = 1 << 22  # uniforms drawn at once


def sample(model: Any, tree: Any, size: int | None = None, seed: Seed = None) -> tuple[Any, Any]:
    """Draw hidden states and observations from a model.

    Parameters
    ----------
    model : Model or object of a supported library
        Whatever `hd.as_model` takes.
    tree : Tree, int or UNTIL_END
        The tree, or the length of a chain; UNTIL_END for a model with `end`, whose chains have random lengths.
    size : int, optional
        The number of independent trees. By default one, without a leading axis.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same draw again. By default every call differs.

    Returns
    -------
    states : ndarray of shape (n,) or (size, n)
        The hidden states; with UNTIL_END and `size`, a list of arrays.
    x : ndarray of shape (n,), (n, F), (size, n) or (size, n, F)
        The observations, NaN where a group shows none; with UNTIL_END and `size`, a list of arrays.

    Raises
    ------
    IncompatibleModels
        Where the model's groups or end probabilities do not fit the tree.
    HidivError
        Where `size` or `seed` is out of range.

    Notes
    -----
    Drawn node by node from definitions (1.1).

    Examples
    --------
    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.7]))
    >>> states, x = hd.sample(two, 5, seed=1)
    >>> states.tolist(), x.tolist()
    ([1, 1, 0, 1, 1], [1.0, 0.0, 0.0, 1.0, 1.0])
    """
    model = as_model(model)
    rng = generator(seed)
    count = check_size(size)
    if isinstance(tree, UntilEnd):
        drawn = [_until_end(model, rng) for _ in range(count)]
        return drawn[0] if size is None else ([states for states, _ in drawn], [x for _, x in drawn])
    if model.end is not None:
        refuse(
            IncompatibleModels,
            model.title,
            "has end probabilities and chooses its own length",
            remedy="use tree=hd.UNTIL_END",
        )
    place = as_tree(tree)
    check_groups(model, place, "model")
    states = draw_states(model, place, count, rng)
    x = draw_observations(model, place, states, rng)
    return (states[0], x[0]) if size is None else (states, x)


def sample_posterior(
    model: Any, evidence: Any, tree: Any = None, size: int | None = None, seed: Seed = None
) -> IntArray:
    """Draw hidden states given the evidence.

    Parameters
    ----------
    model : Model or object of a supported library
        Whatever `hd.as_model` takes.
    evidence : Evidence, array-like, DataFrame or list of text
        What is known of the nodes; NaN is not seen. See `hd.Evidence`.
    tree : Tree or int, optional
        The tree of the nodes, or the length of a chain. By default the chain as long as the evidence.
    size : int, optional
        The number of independent draws. By default one, without a leading axis.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same draw again. By default every call differs.

    Returns
    -------
    ndarray of shape (n,) or (size, n)
        The states.

    Raises
    ------
    InvalidEvidence
        Where the evidence does not fit the model or the tree.
    IncompatibleModels
        Where the model's groups or end probabilities do not fit the tree.
    ImpossibleEvidence
        Where the model gives the evidence probability 0; the message names the node.

    Notes
    -----
    Drawn from the root down by the conditional laws of definitions (2.1).

    Examples
    --------
    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.7]))
    >>> hd.sample_posterior(two, [0, 0, 1, 1], seed=1).tolist()
    [0, 1, 1, 1]
    """
    model = as_model(model)
    tables, layout, _ = tables_of(model, evidence, tree)
    states, impossible = sample_states(tables, layout, generator(seed).random((check_size(size), layout.n_nodes)))
    if impossible is not None:
        refuse_impossible(model, impossible)
    return states[0] if size is None else states


def draw_states(model: Model, tree: Tree, count: int, rng: np.random.Generator) -> IntArray:
    """(count, n): the hidden states of independent trees."""
    tables = Tables(model.initial, model.transitions, np.zeros((1, model.n_states)))
    transition_of = tree.group if len(model.transitions) > 1 else None
    layout = Layout(
        tree.n_nodes, None if tree.is_chain else tree.parent, transition_of, np.zeros(tree.n_nodes, dtype=np.int64)
    )
    at_once = max(1, BLOCK // tree.n_nodes)
    blocks = [
        sample_states(tables, layout, rng.random((min(at_once, count - start), tree.n_nodes)))[0]
        for start in range(0, count, at_once)
    ]
    return np.concatenate(blocks)


def draw_observations(model: Model, tree: Tree, states: IntArray, rng: np.random.Generator) -> Array:
    """(count, n) or (count, n, F): an observation of each node; NaN where a group shows none."""
    columns = model.n_features
    x = np.full((*states.shape, columns), np.nan)
    for g, family in enumerate(model.emissions):
        nodes = slice(None) if len(model.emissions) == 1 else np.flatnonzero(tree.group == g)
        own_states = states[:, nodes]
        if family.n_features and own_states.size:
            x[:, nodes] = family.draw(own_states.ravel(), rng).reshape(*own_states.shape, columns)
    return (
        x[:, :, 0]
        if all(family.is_scalar or not family.n_features for family in model.emissions) and columns == 1
        else x
    )


def check_size(size: int | None) -> int:
    """The number of draws; None is one."""
    return 1 if size is None else whole("size", size)


def _until_end(model: Model, rng: np.random.Generator) -> tuple[IntArray, Array]:
    """The states and observations of one chain that stops by itself."""
    if model.end is None:
        refuse(
            IncompatibleModels,
            model.title,
            "has no end probabilities",
            remedy="give the number of nodes instead of UNTIL_END",
        )
    rows = np.cumsum(np.column_stack([model.transitions[0], model.end]), axis=1)
    states = [int(np.searchsorted(np.cumsum(model.initial), rng.random(), side="right"))]
    while (
        following := int(np.searchsorted(rows[states[-1]], rng.random() * rows[states[-1], -1], side="right"))
    ) < model.n_states:
        states.append(following)
    path = np.array(states)
    return path, model.emissions[0].sample(path, rng)
