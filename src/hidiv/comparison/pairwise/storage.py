"""Where the blocks of a matrix are kept: in memory, or in a zarr store that a second run completes.

A store keeps a fingerprint of the models, the tree and the options, so that a run with other inputs cannot complete it.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.pairwise.observed_draws import MonteCarloBlock, MonteCarloPlan
from hidiv.comparison.pairwise.plan import Block, Plan
from hidiv.errors import HidivError, InvalidFile, MissingExtra, refuse, shown
from hidiv.files.disk import checked_path
from hidiv.models.evidence import as_evidence
from hidiv.models.tree import as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array, Flags

Corner = tuple[int, int]
AnyPlan = Plan | MonteCarloPlan
AnyBlock = Block | MonteCarloBlock

FORMAT = "hidiv.pairwise"
ARRAYS = {"written", "direct", "values", "errors"}
REMEDY = "remove it and start again"


class MatrixStorage(NamedTuple):
    """The matrix, and for each block whether it is written (0 or 1) and how many of its pairs took the direct way."""

    values: Any
    written: Any
    direct: Any
    edges: tuple[int, int]  # rows and columns of a block
    is_mirrored: bool
    errors: Any = None  # standard errors of the values, where a block (m, m', 2) brings them

    def todo(self, plan: AnyPlan) -> list[Corner]:
        """The corners of the blocks that are not written yet."""
        written = np.asarray(self.written[...])
        return [corner for corner in plan.corners() if not written[self._at(*corner)]]

    def write(self, block: AnyBlock, values: Array, direct: int) -> None:
        """Write a block, then mark it: a run that is killed between the two writes it again, the same."""
        if self.errors is None:
            self._write_table(self.values, block, values)
        else:
            self._write_table(self.values, block, values[..., 0])
            self._write_table(self.errors, block, values[..., 1])
        self.mark(block, direct)

    def _write_table(self, table: Any, block: AnyBlock, part: Array) -> None:
        table[block.top : block.bottom, block.left : block.right] = part
        if self.is_mirrored and block.top != block.left:
            table[block.left : block.right, block.top : block.bottom] = part.T

    def mark(self, block: AnyBlock, direct: int) -> None:
        """Mark a block as written."""
        at = self._at(block.top, block.left)
        if self.written[at]:
            raise AssertionError(f"block {at} was computed twice")
        self.direct[at] = direct
        self.written[at] = 1

    def _at(self, top: int, left: int) -> tuple[int, int]:
        return top // self.edges[0], left // self.edges[1]

    def finished(self, plan: AnyPlan) -> Flags:
        """(M, M'): whether a pair is written."""
        rows, columns = plan.shape
        written = np.asarray(self.written[...]) > 0
        if self.is_mirrored:
            written = written | written.T
        return np.repeat(np.repeat(written, self.edges[0], axis=0)[:rows], self.edges[1], axis=1)[:, :columns]


def in_memory(plan: AnyPlan, with_errors: bool = False) -> MatrixStorage:
    """An empty matrix in this process."""
    grid = _grid(plan)
    return MatrixStorage(
        np.empty(plan.shape),
        np.zeros(grid, dtype=np.uint8),
        np.zeros(grid, dtype=np.int64),
        plan.edges,
        plan.is_mirrored,
        np.empty(plan.shape) if with_errors else None,
    )


def in_store(
    plan: AnyPlan, path: Any, fingerprint: str, described: dict[str, Any], with_errors: bool = False
) -> MatrixStorage:
    """A zarr group on disk, new or half full; one that belongs to other models, another tree or options is refused."""
    try:
        import zarr
    except ModuleNotFoundError:
        refuse(MissingExtra, "store", "needs zarr", remedy="pip install 'hidiv[dask]'")
    place = checked_path(path)
    try:
        group = zarr.open_group(place, mode="a")
        kept: Any = group.attrs.asdict().get(FORMAT)
        foreign = set() if kept is not None else set(group.keys()) - ARRAYS
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zarr.errors.BaseZarrError) as error:
        refuse(InvalidFile, shown(place), f"is no store that can be opened, {_first_line(error)}")
    if kept is not None and not isinstance(kept, dict):
        refuse(InvalidFile, shown(place), f"is damaged: its {FORMAT} cannot be read", remedy=REMEDY)
    if kept is None:
        if foreign:
            refuse(
                InvalidFile, shown(place), "holds something other than a pairwise matrix", remedy="name another store"
            )
        for name in ("written", "direct"):
            kind = np.uint8 if name == "written" else np.int64
            group.create_array(name, shape=_grid(plan), chunks=(1, 1), dtype=kind, fill_value=0, overwrite=True)
        chunks = tuple(min(edge, n) for edge, n in zip(plan.edges, plan.shape, strict=True))
        for name in ("values", *(["errors"] if with_errors else [])):
            group.create_array(
                name, shape=plan.shape, chunks=chunks, dtype=np.float64, fill_value=np.nan, overwrite=True
            )
        # Last: a group without it was never begun, whatever of it is there.
        group.attrs[FORMAT] = {"version": 1, "fingerprint": fingerprint, **described}
    elif kept.get("fingerprint") != fingerprint:
        differs = [key for key, value in described.items() if kept.get(key) != value]
        what = f" ({', '.join(differs)})" if differs else ""
        refuse(
            HidivError,
            shown(place),
            f"was begun with other models, another tree or other options{what}",
            remedy="name another store, or remove this one",
        )
    return _opened(group, shown(place), plan, with_errors)


def _opened(group: Any, place: str, plan: AnyPlan, with_errors: bool) -> MatrixStorage:
    """The arrays of a store, once all are known to be there with the shapes they were made with."""
    wanted: dict[str, tuple[tuple[int, int], Any]] = {
        "values": (plan.shape, np.float64), "written": (_grid(plan), np.uint8), "direct": (_grid(plan), np.int64),
    }  # fmt: skip
    if with_errors:
        wanted["errors"] = plan.shape, np.float64
    arrays = {}
    for name, (shape, kind) in wanted.items():
        try:
            array = group[name]
            sound = tuple(array.shape) == shape and array.dtype == kind
            if name in ("written", "direct"):
                sound = sound and (array[...] >= 0).all()
        except Exception as error:  # zarr and its codecs raise errors of any class
            reason = f"is damaged: its array {name} cannot be read, {_first_line(error)}"
            refuse(InvalidFile, place, reason, remedy=REMEDY)
        if not sound:
            refuse(InvalidFile, place, f"is damaged: its array {name} does not fit", remedy=REMEDY)
        arrays[name] = array
    errors = arrays.get("errors")
    return MatrixStorage(arrays["values"], arrays["written"], arrays["direct"], plan.edges, plan.is_mirrored, errors)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _grid(plan: AnyPlan) -> tuple[int, int]:
    """How many blocks there are from top to bottom and from left to right."""
    (rows, columns), (height, width) = plan.shape, plan.edges
    return -(-rows // height), -(-columns // width)


def fingerprint(left: ModelsByShape, right: ModelsByShape, described: dict[str, Any], evidence: Any) -> str:
    """A digest of every parameter, bit for bit, and of the options."""
    digest = sha256()

    def add(text: str) -> None:
        digest.update(f"{len(text)}:{text}".encode())

    add(json.dumps(described, sort_keys=True, default=str))
    for models in (left,) if right is left else (left, right):
        add(f"{len(models)} models")
        for group, places in models.groups:
            for name, array in {"places": places, **group.to_arrays()}.items():
                add(f"{name} {array.dtype.str} {array.shape}")
                digest.update(np.ascontiguousarray(array).tobytes())
    if evidence is not None:
        known = as_evidence(evidence)
        for value in (known.x, known.lower, known.upper, known.allowed, known.symbols):
            add("none" if value is None else f"{value.dtype.str} {value.shape}")
            digest.update(b"" if value is None else np.ascontiguousarray(value).tobytes())
        add(repr((sorted(known.symbol_sets.items()), sorted(known.state_sets.items()), known.is_listed)))
    return digest.hexdigest()


def digest_of_tree(tree: Any) -> str:
    """A tree (or None, or UNTIL_END) as a short text."""
    if tree is None or isinstance(tree, UntilEnd):
        return repr(tree)
    text = json.dumps(as_tree(tree).to_dict(), sort_keys=True, default=str)
    return text if len(text) < 100 else sha256(text.encode()).hexdigest()
