"""The measures by name: what `pairwise`, `nearest` and the command line take, and what large values mean."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class NamedMeasure(NamedTuple):
    """Where a measure is, and how its values are read."""

    module: str
    words: str  # of a matrix: "product kernels"
    on_tree: bool = True  # whether it takes a tree
    equal: float | None = 0.0  # the value of a model with itself; None where it depends on the model
    largest_is_nearest: bool = False
    by_overlap: bool = False  # computed exactly, by bounds or by draws, as `bhattacharyya` says
    unit: str = ""


MEASURES: dict[str, NamedMeasure] = {
    "product_kernel": NamedMeasure("product_kernel", "product kernels", equal=1.0, largest_is_nearest=True),
    "coemission": NamedMeasure("product_kernel", "co-emission probabilities", equal=None, largest_is_nearest=True),
    "bhattacharyya": NamedMeasure(
        "bhattacharyya", "Bhattacharyya coefficients", equal=1.0, largest_is_nearest=True, by_overlap=True
    ),
    "hellinger": NamedMeasure("bhattacharyya", "Hellinger distances", by_overlap=True),
    "total_variation": NamedMeasure("bhattacharyya", "total variations", by_overlap=True),
    "bayes_error": NamedMeasure(
        "bhattacharyya", "Bayes errors", equal=0.5, largest_is_nearest=True, by_overlap=True
    ),
    "jensen_shannon": NamedMeasure(
        "jensen_shannon", "Jensen-Shannon divergences in nats", by_overlap=True, unit="nats"
    ),
    "aggregated_wasserstein": NamedMeasure(
        "aggregated_wasserstein", "aggregated Wasserstein distances", on_tree=False
    ),
    "sahraeian_yoon": NamedMeasure(
        "sahraeian_yoon", "Sahraeian-Yoon similarities", on_tree=False, equal=None, largest_is_nearest=True
    ),
}  # fmt: skip


def function_of(name: str) -> Any:
    """The function of a measure."""
    return getattr(import_module(f"hidiv.divergences.measures.{MEASURES[name].module}"), name)
