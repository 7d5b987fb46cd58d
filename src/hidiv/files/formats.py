"""The formats of files, each with the class that reads and writes it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hidiv.errors import HidivError, InvalidFile, InvalidModel, refuse
from hidiv.files.strict_json import LARGEST, parse, too_deep, written

if TYPE_CHECKING:
    from hidiv.models.model import Model
    from hidiv.models.tree import Tree

# By name, so that reading one format imports only what it needs, and imports keep pointing one way.
FORMATS = {
    "hidiv.model": ("hidiv.models.model", "Model"),
    "hidiv.tree": ("hidiv.models.tree", "Tree"),
    "hidiv.divergence": ("hidiv.divergences.result", "Divergence"),
    "hidiv.measure": ("hidiv.divergences.measures.measure", "Measure"),
    "hidiv.comparison": ("hidiv.divergences.comparison", "Comparison"),
    "hidiv.equivalence": ("hidiv.divergences.equivalence.equivalent", "Equivalence"),
    "hidiv.minimal": ("hidiv.divergences.equivalence.minimal", "Minimal"),
    "hidiv.reduction": ("hidiv.answers.reduction", "Reduction"),
    "hidiv.matching": ("hidiv.answers.matching", "Matching"),
    "hidiv.agreement": ("hidiv.answers.agreement", "Agreement"),
    "hidiv.fit": ("hidiv.fitting.fit_result", "FitResult"),
    "hidiv.choice": ("hidiv.fitting.selection", "Choice"),
    "hidiv.pairwise": ("hidiv.comparison.pairwise.matrix", "PairwiseMatrix"),
    "hidiv.score": ("hidiv.inference.score", "Score"),
    "hidiv.standard_errors": ("hidiv.fitting.parameter_errors", "StandardErrors"),
    "hidiv.divergence_interval": ("hidiv.fitting.divergence_interval", "DivergenceInterval"),
    "hidiv.bootstrap": ("hidiv.fitting.bootstrap_result", "BootstrapResult"),
    "hidiv.difference": ("hidiv.answers.difference", "Difference"),
}
HOLDING_A_MODEL = ("hidiv.fit",)  # formats whose `model` is taken where a model is wanted
# Models in the text formats of other programs: a part of their first word -> the function that reads them.
FOREIGN = {
    "Hmm": ("hidiv.adapters.jahmm", "read_text"),
    "MARKOV": ("hidiv.adapters.openalea", "read_text"),
}
CHROMHMM = ("hidiv.adapters.chromhmm", "read_text")
ADAPTERS = "hidiv.adapters.as_model"
FOREIGN_LIMIT = 2**26  # characters: every word becomes an object while they are read
KINDS = tuple(name for _, name in FORMATS.values())
SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}  # of tables
COLLECTION = ("hidiv.comparison.collection.collection", "Collection")
MATRIX = FORMATS["hidiv.pairwise"]
ARCHIVES = {"hidiv.collection": COLLECTION, "hidiv.matrix": MATRIX}  # in NPZ files


def class_of(place: tuple[str, str]) -> Any:
    """The class or the function at a place (module, name), imported when first used."""
    return getattr(import_module(place[0]), place[1])


def is_a(obj: object, place: tuple[str, str]) -> bool:
    """Whether an object is of the class at a place, which is not imported."""
    return any((each.__module__, each.__qualname__) == place for each in type(obj).__mro__)


def our_own(obj: object) -> object:
    """A model of another library as a Model; anything else as it is."""
    foreign = class_of((ADAPTERS, "library_of"))(obj) is not None
    return class_of((ADAPTERS, "as_model"))(obj) if foreign else obj


def from_text(text: str, place: str, wanted: str | None = None) -> Any:
    """The object a text holds, JSON or a model of another program; messages begin with `place`, the file's name.

    `wanted` names the only format allowed.
    """
    first = _first_word(text)
    foreign = next((reader for word, reader in FOREIGN.items() if word in first), None)
    if foreign is None and _is_chromhmm(text):
        foreign = CHROMHMM
    if foreign is not None and not first.startswith("{"):
        return _foreign_model(text, place, wanted, foreign)
    table = _table(text)
    if table:
        refuse(
            InvalidFile,
            place,
            f"is {table}, as spreadsheets export it, and not {_needed(wanted)}",
            remedy="fit a model to it with `hidiv fit --data`, or give a model or a tree in JSON",
        )
    described = parse(text, place)
    form = described.get("format")
    known = ", ".join(FORMATS)
    if "format" not in described:
        refuse(InvalidFile, place, 'the key "format" is missing', remedy=f"known are {known}")
    if not isinstance(form, str) or form not in FORMATS:
        refuse(InvalidFile, f"{place}: format", "is not a known one", repr(form), f"known are {known}")
    held = wanted == "hidiv.model" and form in HOLDING_A_MODEL
    if wanted is not None and form != wanted and not held:
        refuse(InvalidFile, f"{place}: format", f"{wanted} is needed here", form)
    if described.get("version") != 1 or isinstance(described.get("version"), bool):
        refuse(
            InvalidFile,
            f"{place}: version",
            "must be 1, the only one so far",
            repr(described.get("version")),
            "a newer hidiv may read it",
        )
    try:
        result = class_of(FORMATS[form]).from_dict(described)
        return result.model if held else result
    except HidivError as error:
        raise placed(error, place) from None
    except RecursionError:
        too_deep(place)


def _first_word(text: str) -> str:
    """The first word outside # comments."""
    for line in text.removeprefix("\ufeff").splitlines():
        words = line.partition("#")[0].split(maxsplit=1)
        if words:
            return words[0]
    return ""


def _is_chromhmm(text: str) -> bool:
    """Whether a text is a model of ChromHMM: a line of sizes, then `probinit`, between tabs."""
    lines = text.removeprefix("\ufeff")[:4096].splitlines()[:2]
    return len(lines) == 2 and lines[0].count("\t") >= 2 and lines[1].startswith("probinit\t")


def _table(text: str) -> str:
    """A table in words: what stands between its values, or that it has one column; empty for a text that is none."""
    from hidiv.models.symbol_names import is_number  # with numpy, which few files need here

    lines = [line for line in text.removeprefix("\ufeff")[:4096].splitlines() if line.strip()][:2]
    if len(lines) < 2 or lines[0].lstrip()[0] in "{[":
        return ""
    counts = ((word, lines[0].count(mark), lines[1].count(mark)) for mark, word in SEPARATORS.items())
    separated = (f"a table of values between {word}" for word, first, second in counts if first == second > 0)
    return next(separated, "a column of values" if is_number(lines[1]) else "")


def _needed(wanted: str | None) -> str:
    """What a file should hold, with its article."""
    return "a model, a tree or a result" if wanted is None else f"a {wanted.removeprefix('hidiv.')}"


def with_article(name: str) -> str:
    """The name of a class with its article."""
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _foreign_model(text: str, place: str, wanted: str | None, reader: tuple[str, str]) -> Any:
    """The model in a text of another program."""
    if wanted not in (None, "hidiv.model"):
        refuse(InvalidFile, place, f"{wanted} is needed here", "a model of another program")
    if len(text) > FOREIGN_LIMIT:
        refuse(InvalidFile, place, f"a model of another program may have {FOREIGN_LIMIT} characters", len(text))
    try:
        return class_of(reader)(text.removeprefix("\ufeff"), place)
    except InvalidModel as error:
        raise placed(error, place) from None


def model_from_text(text: str, place: str) -> Model:
    """A model from the text of a model file."""
    model: Model = from_text(text, place, "hidiv.model")
    return model


def tree_from_text(text: str, place: str) -> Tree:
    """A tree from the text of a tree file."""
    tree: Tree = from_text(text, place, "hidiv.tree")
    return tree


def to_text(obj: object) -> str:
    """The JSON text of a model, a tree, a result, a comparison or a fit; `from_text` gives it back bit for bit."""
    form = next((name for name, place in FORMATS.items() if is_a(obj, place)), None)
    if form is None:
        refuse(InvalidFile, "save", f"JSON files hold {' or '.join(map(with_article, KINDS))}", type(obj).__name__)
    described: Mapping[str, Any] = obj.to_dict()  # type: ignore[attr-defined]
    for u, label in enumerate(described.get("labels") or ()):
        if not isinstance(label, str | int | float | None) or (isinstance(label, int) and abs(label) >= LARGEST):
            refuse(InvalidFile, f"labels[{u}]", "only labels that are texts or numbers can be saved", label)
    return written({"format": form, "version": 1, **described})


def placed(error: HidivError, place: str) -> HidivError:
    """The same error with the file's name before its message."""
    return type(error)(f"{place}: {error}")
