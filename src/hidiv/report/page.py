"""A page in one file: template, style and script put together, nothing fetched from anywhere."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from math import inf, isinf
from typing import TYPE_CHECKING, Any, NamedTuple

from hidiv.errors import MissingExtra, OutOfRange, refuse

if TYPE_CHECKING:
    from jinja2 import Environment

LARGEST = 1_000_000  # bytes of a page


class Page(NamedTuple):
    """A page, and the JSON that it holds for download."""

    html: str
    data: dict[str, Any]


def render(template: str, context: dict[str, Any]) -> Page:
    """The page with `context["result"]` in it; a strict policy lets its own style and script run and nothing else."""
    style, script = _text("style.css"), _text("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = environment().get_template(template).render(context, style=style, script=script, policy=policy)
    if len(page.encode("utf-8")) > LARGEST:
        size = f"{len(page.encode('utf-8'))} bytes"
        refuse(OutOfRange, "report", f"a page may have {LARGEST} bytes", size, "give shorter data or fewer models")
    return Page(page, context["result"])


@cache
def environment() -> Environment:
    """Templates that escape whatever they are given."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        refuse(MissingExtra, "report", "jinja2 is not installed", remedy="pip install 'hidiv[report]'")
    made = Environment(
        loader=PackageLoader("hidiv.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters["g"] = shown
    made.filters["upper_first"] = lambda text: str(text)[:1].upper() + str(text)[1:]
    made.globals["infinity"] = inf
    made.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False, "separators": (",", ":")}
    return made


def shown(value: float, digits: int = 5) -> str:
    """A number as the page writes it; the script writes numbers in bits the same way."""
    if isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent):+d}" if exponent else text


def short(values: Any, digits: int = 6) -> Any:
    """Nested lists of numbers to a few digits, infinities as text: for what the page shows, not for its JSON."""
    if isinstance(values, list | tuple):
        return [short(value, digits) for value in values]
    if hasattr(values, "tolist"):
        return short(values.tolist(), digits)
    if isinstance(values, float):
        return ("inf" if values > 0 else "-inf") if isinf(values) else float(f"{values:.{digits}g}")
    return values


def _text(name: str) -> str:
    return (files("hidiv.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")
