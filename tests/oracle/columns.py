"""An emission family, in one state, as independent columns: (name, parameters) with 50-digit numbers."""

from __future__ import annotations

from .arithmetic import exact, mp

SCALAR_PARAMETERS = {
    "bernoulli": ["probs"],
    "poisson": ["rate"],
    "exponential": ["rate"],
    "gamma": ["shape", "rate"],
    "geometric": ["prob"],
    "laplace": ["loc", "scale"],
    "log_normal": ["mean", "std"],
}


def columns(family, state):
    """The columns of one state; a full Gaussian is one column of several coordinates, Silent has none."""
    name = family["family"]
    if name == "silent":
        return []
    if name == "product":
        return [column for part in family["families"] for column in columns(part, state)]
    if name == "categorical":
        return [("categorical", {"probs": exact(family["probs"][state])})]
    if name == "gaussian":
        return gaussian_columns(family, state)
    values = [listed(exact(family[key][state])) for key in SCALAR_PARAMETERS[name]]
    return [(name, dict(zip(SCALAR_PARAMETERS[name], row, strict=True))) for row in zip(*values, strict=True)]


def gaussian_columns(family, state):
    mean = listed(exact(family["mean"][state]))
    if "cov" in family:
        return [("gaussian_full", {"mean": mean, "cov": exact(family["cov"][state])})]
    if "std" in family:
        var = [s * s for s in listed(exact(family["std"][state]))]
    else:
        var = listed(exact(family["var"][state]))
    return [("gaussian", {"mean": m, "var": v}) for m, v in zip(mean, var, strict=True)]


def joined_gaussian(parts):
    """Independent Gaussian columns as one full column, so that diagonal and full can be compared."""
    if len(parts) == 1 and parts[0][0] == "gaussian_full":
        return parts[0][1]
    n = len(parts)
    cov = [[parts[i][1]["var"] if i == j else mp.zero for j in range(n)] for i in range(n)]
    return {"mean": [part[1]["mean"] for part in parts], "cov": cov}


def listed(value):
    return value if isinstance(value, list) else [value]
