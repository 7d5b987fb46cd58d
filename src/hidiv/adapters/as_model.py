"""Whatever stands for a model becomes one here."""

from __future__ import annotations

from collections.abc import Mapping

from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model


def as_model(obj: object) -> Model:
    """A Model as it is; a plain dict in the form of a model file is read."""
    if isinstance(obj, Model):
        return obj
    if isinstance(obj, Mapping):
        return Model.from_dict(obj)
    refuse(InvalidModel, "model", "must be a hidiv Model or a dict in the form of a model file", type(obj).__name__)


def as_models(p: object, q: object) -> tuple[Model, Model]:
    """Both sides of a comparison, a refusal saying which side it is about."""
    models = []
    for side, obj in (("p", p), ("q", q)):
        try:
            models.append(as_model(obj))
        except InvalidModel as error:
            raise InvalidModel(f"{side}: {error}") from None
    return models[0], models[1]
