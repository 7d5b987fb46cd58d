"""Prototypes: from a family's name, class or template to a family with the right states and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.emissions.family import Family
from hidiv.emissions.registry import FAMILIES, family_class
from hidiv.errors import InvalidModel, refuse
from hidiv.models.evidence import Evidence


def prototype(emission: Any, n_states: int, evidence: Evidence) -> Family:
    """A family of K states: a template's own shape and settings, or plain parameters for a name or a class.

    Of a template with K states the parameters are kept (they matter for those that stay fixed), of any other the first
    state's are repeated.
    """
    if hasattr(emission, "n_states") and not isinstance(emission, type):
        template: Family = emission
        return template if template.n_states == n_states else template.take(np.zeros(n_states, dtype=np.int64))
    name = emission if isinstance(emission, str) else getattr(emission, "name", None)
    if name not in FAMILIES:
        refuse(
            InvalidModel,
            "emission",
            "must be a family, its class or its name",
            emission,
            "known are " + ", ".join(FAMILIES),
        )
    x = np.asarray(evidence.x, dtype=np.float64) if evidence.has_numbers else None
    built: Family = family_class(name).begin(n_states, x, _n_symbols(evidence))
    return built


def _n_symbols(evidence: Evidence) -> int:
    """How many symbols the evidence names; 0 for none."""
    x = np.asarray(evidence.x, dtype=np.float64)
    seen = x[~np.isnan(x)]
    sizes = [int(seen.max()) + 1] if seen.size and np.isfinite(seen).all() else []
    if evidence.symbols is not None:
        sizes.append(evidence.symbols.shape[1])
    sizes += [max(members, default=0) + 1 for members in evidence.symbol_sets.values()]
    sizes += [len(names) for names in evidence.symbol_names or () if names is not None]
    return max(1, *sizes) if sizes else 0
