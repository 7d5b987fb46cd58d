"""What a stored matrix was computed from, as a short text: equal only for the same models, tree and options."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.models.evidence import as_evidence
from hidiv.models.tree import as_tree
from hidiv.models.until_end import UntilEnd


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
