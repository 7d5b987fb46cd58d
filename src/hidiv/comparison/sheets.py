"""Where the blocks of a matrix are put down: in memory, or in a zarr store that a second run takes up again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.blocks import Block, Plan
from hidiv.errors import HidivError, InvalidFile, MissingExtra, refuse, shown
from hidiv.files.disk import checked_path

Array = NDArray[np.float64]
Corner = tuple[int, int]

FORMAT = "hidiv.pairwise"


class Sheet(NamedTuple):
    """The matrix, and by block: how often it was written (once, in the end) and its pairs computed directly."""

    values: Any
    written: Any
    direct: Any
    edge: int
    is_mirrored: bool

    def todo(self, plan: Plan) -> list[Corner]:
        """The blocks nobody has written yet."""
        written = np.asarray(self.written[...])
        return [(top, left) for top, left in plan.corners() if not written[top // self.edge, left // self.edge]]

    def write(self, block: Block, values: Array, direct: int) -> None:
        """Put a block down, then mark it: a run that is killed between the two writes it again, the same."""
        self.values[block.top : block.bottom, block.left : block.right] = values
        if self.is_mirrored and block.top != block.left:
            self.values[block.left : block.right, block.top : block.bottom] = values.T
        self.mark(block, direct)

    def mark(self, block: Block, direct: int) -> None:
        """The block is in its place."""
        at = block.top // self.edge, block.left // self.edge
        if self.written[at]:
            raise AssertionError(f"block {at} came twice")
        self.direct[at] = direct
        self.written[at] = 1

    def finished(self, plan: Plan) -> NDArray[np.bool_]:
        """(M, M'): whether a pair is in its place."""
        rows, columns = plan.shape
        written = np.asarray(self.written[...]) > 0
        if self.is_mirrored:
            written = written | written.T
        return np.repeat(np.repeat(written, self.edge, axis=0)[:rows], self.edge, axis=1)[:, :columns]


def in_memory(plan: Plan) -> Sheet:
    """An empty matrix in this process."""
    grid = _grid(plan)
    return Sheet(
        np.empty(plan.shape),
        np.zeros(grid, dtype=np.uint8),
        np.zeros(grid, dtype=np.int64),
        plan.edge,
        plan.is_mirrored,
    )


def in_store(plan: Plan, path: Any, fingerprint: str, described: dict[str, Any]) -> Sheet:
    """A zarr group on disk, new or taken up again; one that belongs to other models, tree or options is refused."""
    try:
        import zarr
    except ModuleNotFoundError:
        refuse(MissingExtra, "store", "needs zarr", remedy="pip install 'hidiv[dask]'")
    place = checked_path(path)
    try:
        group = zarr.open_group(place, mode="a")
        kept: Any = group.attrs.asdict().get(FORMAT)
        empty = not list(group.keys())
    except (OSError, ValueError, KeyError, zarr.errors.BaseZarrError) as error:
        refuse(InvalidFile, shown(place), f"is no store that can be opened, {str(error) or type(error).__name__}")
    if kept is None:
        if not empty:
            refuse(
                InvalidFile, shown(place), "holds something other than a pairwise matrix", remedy="name another store"
            )
        for name in ("written", "direct"):
            kind = np.uint8 if name == "written" else np.int64
            group.create_array(name, shape=_grid(plan), chunks=(1, 1), dtype=kind, fill_value=0)
        edges = tuple(min(plan.edge, n) for n in plan.shape)
        group.create_array("values", shape=plan.shape, chunks=edges, dtype=np.float64, fill_value=np.nan)
        # Last: a group without it was never begun.
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
    return Sheet(group["values"], group["written"], group["direct"], plan.edge, plan.is_mirrored)


def _grid(plan: Plan) -> tuple[int, int]:
    rows, columns = plan.shape
    return -(-rows // plan.edge), -(-columns // plan.edge)
