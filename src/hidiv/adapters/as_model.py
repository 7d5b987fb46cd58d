"""`as_model`: from the objects of other libraries to a Model."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model
from hidiv.models.zero_filling import with_floor

# Package of a class -> module of this folder whose `read` converts an object of it to a Model. Packages are found by
# name: no library is imported here, as whoever has an object of one has imported it.
LIBRARIES = {
    "hmmlearn": "hidiv.adapters.hmmlearn",
    "pomegranate": "hidiv.adapters.pomegranate",
    "dynamax": "hidiv.adapters.dynamax",
    "pyro": "hidiv.adapters.pyro",
    "tensorflow_probability": "hidiv.adapters.tfp",
    "statsmodels": "hidiv.adapters.statsmodels",
    "deeptime": "hidiv.adapters.deeptime",
}


def as_model(obj: object, *, name: str | None = None, floor: float | None = None) -> Model:
    """Convert whatever stands for a model to a Model.

    All functions that take a model convert it in this way.

    Parameters
    ----------
    obj : Model, FitResult, mapping or object of a supported library
        A Model as it is, the model of a fit, a mapping in the form of a model file, or a model of hmmlearn,
        pomegranate, dynamax, Pyro, TensorFlow Probability, statsmodels or deeptime. dynamax keeps parameters apart:
        give the tuple (model, params). docs/adapters.md describes each library.
    name : str, optional
        Another name for the model. By default it keeps its own.
    floor : float, optional
        Fills zeros: every probability p of a law of n entries becomes (1 - n floor) p + floor, in the laws that
        `hd.smoothed` names. By default zeros stay.

    Returns
    -------
    Model
        The model; `obj` itself where it is one already.

    Raises
    ------
    InvalidModel
        Where the object is no model that can be read, or its parameters break a rule.

    See Also
    --------
    smoothed : fills zeros by a weight.
    to_hmmlearn : the other direction.

    Examples
    --------
    >>> import hidiv as hd
    >>> coin = {"initial": [1.0], "transition": [[1.0]], "emission": {"family": "bernoulli", "probs": [0.5]}}
    >>> hd.as_model(coin, name="coin")
    Model 'coin': 1 state, bernoulli emission
         initial  to 0  probs
      0        1     1    0.5
    """
    model = _read(obj)
    if floor is not None:
        model = with_floor(model, floor)
    return model if name is None else model.renamed(name)


def _read(obj: object) -> Model:
    """The model an object stands for, before a name or a floor."""
    if isinstance(obj, Model):
        return obj
    if isinstance(obj, Mapping):
        return Model.from_dict(obj)
    library = library_of(obj)
    if library is None:
        inner = getattr(obj, "model", None)  # a fit, or any other object that holds a model
        if isinstance(inner, Model):
            return inner
        refuse(
            InvalidModel,
            "model",
            "must be a hidiv Model, a dict in the form of a model file, a fit or a model of " + ", ".join(LIBRARIES),
            type(obj).__name__,
        )
    try:
        model: Model = import_module(LIBRARIES[library]).read(obj)
    except InvalidModel as error:
        raise InvalidModel(f"{library} {_called(obj)}: {error}") from None
    return model


def is_one_model(obj: object) -> bool:
    """Whether an object stands for one model, not for a list of them; tuples are lists."""
    if isinstance(obj, Model | Mapping) or isinstance(getattr(obj, "model", None), Model):
        return True
    return not isinstance(obj, tuple) and library_of(obj) is not None


def as_models(p: object, q: object) -> tuple[Model, Model]:
    """Both sides of a comparison; messages say which side they are about."""
    models = []
    for side, obj in (("p", p), ("q", q)):
        try:
            models.append(as_model(obj))
        except InvalidModel as error:
            raise InvalidModel(f"{side}: {error}") from None
    return models[0], models[1]


def library_of(obj: object) -> str | None:
    """The library of an object's class or of its bases; of a tuple, that of its first member; None for others."""
    first = obj[0] if isinstance(obj, tuple) and obj else obj
    packages = (each.__module__.partition(".")[0] for each in type(first).__mro__)
    return next((package for package in packages if package in LIBRARIES), None)


def _called(obj: object) -> str:
    """The name of an object's class."""
    return type(obj[0] if isinstance(obj, tuple) else obj).__name__
