"""Loading objects from files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hidiv.errors import HidivError, InvalidFile, refuse, shown
from hidiv.files.disk import Path, checked_path, opened, read_limited
from hidiv.files.formats import ARCHIVES, COLLECTION, class_of, from_text, placed
from hidiv.files.strict_json import too_deep

if TYPE_CHECKING:
    from hidiv.models.model import Model
    from hidiv.models.tree import Tree


def load(path: Path) -> Any:
    """Read a model, a tree, a result or a collection from a file.

    Parameters
    ----------
    path : str or path-like
        The file: JSON, NPZ, or a model of jahmm (text), OpenAlea (.hmt) or ChromHMM (model_*.txt), recognised by its
        contents; or a folder with a model in CSV files.

    Returns
    -------
    Model, Tree, Divergence, Comparison, FitResult, PairwiseMatrix or Collection
        What was saved, bit for bit. JSON holds all but a Collection, NPZ a Collection or a PairwiseMatrix.

    Raises
    ------
    InvalidFile
        Where the file cannot be read, or does not hold what it should; the message names the place.

    See Also
    --------
    save : writes such files.

    Examples
    --------
    >>> import os, tempfile
    >>> import hidiv as hd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rain.json")
    ...     hd.save(hd.Model([1.0], [[1.0]], hd.Poisson([2.0]), name="rain"), path)
    ...     hd.load(path)
    Model 'rain': 1 state, poisson emission
         initial  to 0  rate
      0        1     1     2
    """
    return _load(checked_path(path), None)


def load_model(path: Path) -> Model:
    """The model in a file, which may hold a model or a fit; anything else is refused."""
    model: Model = _load(checked_path(path), "hidiv.model")
    return model


def load_tree(path: Path) -> Tree:
    """The tree in a file; anything else is refused."""
    tree: Tree = _load(checked_path(path), "hidiv.tree")
    return tree


def decoded(data: bytes, place: str) -> str:
    """The text of a JSON file."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(InvalidFile, place, f"must be UTF-8 text, byte {error.start + 1} is not")


def _load(path: str, wanted: str | None) -> Any:
    """The object in a file; `wanted` names the only format allowed."""
    place = shown(path)
    if os.path.isdir(path) and wanted in (None, "hidiv.model"):
        from hidiv.files.csv_folder import read_folder

        return read_folder(path)
    with opened(path) as file:
        if file.peek(2)[:2] == b"PK":  # the first bytes of every zip
            if wanted is not None:
                refuse(InvalidFile, place, f"{wanted} is needed here", "a zip archive")
            from hidiv.files.npz import read_arrays  # imported here, as JSON files need no numpy

            try:
                arrays = read_arrays(file)
                return class_of(ARCHIVES.get(str(arrays.get("format")), COLLECTION)).from_arrays(arrays)
            except HidivError as error:
                raise placed(error, place) from None
            except RecursionError:
                too_deep(place)
        data = read_limited(file, path)
    return from_text(decoded(data, place), place, wanted)
