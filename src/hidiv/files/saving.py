"""Saving objects to files."""

from __future__ import annotations

from hidiv.errors import InvalidFile, refuse
from hidiv.files.disk import Path, checked_path, replace_file, write_text
from hidiv.files.formats import COLLECTION, FORMATS, KINDS, MATRIX, is_a, our_own, to_text, with_article


def save(obj: object, path: Path) -> None:
    """Write a model, a tree, a result or a collection to a file.

    The file appears whole or not at all.

    Parameters
    ----------
    obj : Model, Tree, Collection, a result, or object of a supported library
        A result is a Divergence, Comparison, FitResult, PairwiseMatrix, Score, StandardErrors, DivergenceInterval,
        BootstrapResult, Difference or another answer. A model of another library is written as the Model it stands for.
    path : str or path-like
        The file. A Collection is written as NPZ, a PairwiseMatrix as NPZ where the name ends so, all else as JSON.

    Raises
    ------
    InvalidFile
        Where the file cannot be written, or the object is none that files hold.

    See Also
    --------
    load : reads such files.

    Examples
    --------
    >>> import os, tempfile
    >>> import hidiv as hd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tree.json")
    ...     hd.save(hd.Tree.regular(2, 3), path)
    ...     hd.load(path)
    Tree.regular(2, 3)
    """
    target = checked_path(path)
    archived = target.lower().endswith(".npz")
    if is_a(obj, COLLECTION) or (is_a(obj, MATRIX) and archived):
        if target.lower().endswith(".json"):
            refuse(InvalidFile, "save", "a Collection is written as NPZ", target, "name the file .npz")
        from hidiv.files.npz import write_arrays

        arrays = obj.to_arrays()  # type: ignore[attr-defined]
        replace_file(target, lambda out: write_arrays(out, arrays))
        return
    if not any(is_a(obj, place) for place in FORMATS.values()):
        obj = our_own(obj)
    if not any(is_a(obj, place) for place in FORMATS.values()):
        refuse(
            InvalidFile, "save", f"files hold {', '.join(map(with_article, KINDS))} or a Collection", type(obj).__name__
        )
    if archived:
        what = with_article(type(obj).__name__)
        refuse(InvalidFile, "save", f"{what} is written as JSON", target, "name the file .json")
    write_text(target, to_text(obj))
