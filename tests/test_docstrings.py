"""Docstrings of public names in numpydoc form: every parameter, what comes back, an example."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import hidiv

# Rules of numpydoc itself, https://numpydoc.readthedocs.io/en/latest/validation.html: sections known and in order, no
# second title, a summary of one line with a full stop, descriptions where there are names.
RULES = {"GL06", "GL07", "GL08", "SS01", "SS03", "SS04", "SS06", "PR07", "PR10", "RT03", "YD01"}
# Their public methods are checked too: these are the classes that users build objects of.
BUILT = ("Evidence", "Model", "Tree")


def public() -> Iterator[tuple[str, Any]]:
    """Functions and classes of the package, and the methods of some classes, by name."""
    for name in hidiv.__all__:
        obj = getattr(hidiv, name)
        if inspect.isfunction(obj) or inspect.isclass(obj):
            yield name, obj
        if name in BUILT:
            for key, member in vars(obj).items():
                if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, classmethod)):
                    yield f"{name}.{key}", getattr(obj, key)


def parameters(obj: Any) -> list[str]:
    """Names in the signature, as a Parameters section writes them."""
    if inspect.isclass(obj) and issubclass(obj, BaseException):
        return []
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    given = inspect.signature(obj).parameters.values()
    return [marks.get(each.kind, "") + each.name for each in given if each.name != "self"]


def listed(section: list[Any]) -> dict[str, Any]:
    """The entries of a section by name; "p, q : Model" is two."""
    return {name.strip(): each for each in section for name in each.name.split(",")}


def shortcomings(name: str, obj: Any) -> Iterator[str]:
    """A sentence for everything that is missing in one docstring."""
    text = inspect.getdoc(obj)
    if not text:
        yield "has no docstring"
        return
    try:
        doc = NumpyDocString(text)
    except (ValueError, UserWarning) as error:
        yield f"is not numpydoc: {error}"
        return
    for code, message in validate(f"hidiv.{name}")["errors"]:
        if code in RULES:
            yield message
    wanted = parameters(obj)
    described = listed([*doc["Parameters"], *doc["Other Parameters"]])
    # What a user never builds, a result, describes its fields as attributes.
    attributes = listed(doc["Attributes"]) if inspect.isclass(obj) else {}
    if described or not set(wanted) <= set(attributes):
        if list(described) != wanted:
            yield f"Parameters are {list(described)}, the signature has {wanted}"
        yield from (f"parameter {key} has no type" for key, each in described.items() if not (each.type or "*" in key))
    if not inspect.isclass(obj):
        returns = inspect.signature(obj).return_annotation
        if returns not in (None, "None") and not doc["Returns"] and not doc["Yields"]:
            yield "has no Returns"
    if ">>> " not in "\n".join(doc["Examples"]):
        yield "has no Examples"


def test_public_names_are_explained() -> None:
    missing = [f"hidiv.{name}: {what}" for name, obj in public() for what in shortcomings(name, obj)]
    assert not missing, "\n" + "\n".join(missing)


def test_modules_and_values_have_a_docstring() -> None:
    rest = [name for name in hidiv.__all__ if name not in dict(public()) and name != "__version__"]
    assert [name for name in rest if not inspect.getdoc(getattr(hidiv, name))] == []
