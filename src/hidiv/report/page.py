"""A page in one file: template, style and script put together, nothing fetched from anywhere."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cache
from gzip import compress
from hashlib import sha256
from importlib.resources import files
from math import inf, isinf
from typing import TYPE_CHECKING, Any, NamedTuple

from hidiv.errors import MissingExtra, OutOfRange, counted, refuse

if TYPE_CHECKING:
    from jinja2 import Environment

LARGEST = 1_000_000  # bytes of a page
HOPELESS = 6 * LARGEST  # bytes of JSON; numbers shrink to a bit more than half


class Page(NamedTuple):
    """A page, and the JSON that it holds for download, or links to in a file `beside` where that is too long for it."""

    html: str
    data: dict[str, Any]
    beside: str | None = None

    def data_text(self) -> str:
        """The JSON as a file holds it."""
        return json.dumps(self.data, indent=1, allow_nan=False) + "\n"


def render(template: str, context: dict[str, Any], beside: str, display: dict[str, Any] | None = None) -> Page:
    """The page with `context["result"]` packed into it, or with a link to the file `beside` where that does not fit.

    `display` is what of the result the script shows, in fewer digits: it goes with the link where it fits.
    """
    for held, link in ((context["result"], None), (display or {}, beside), ({}, beside)):
        packed = pack(held)
        if packed is not None:
            html = _filled(template, context | {"packed": packed, "beside": link})
            if len(html.encode("utf-8")) <= LARGEST:
                return Page(html, context["result"], link)
    size = f"{len(html.encode('utf-8'))} bytes"
    refuse(OutOfRange, "report", f"a page may have {LARGEST} bytes", size, "give shorter data or fewer models")


def pack(data: dict[str, Any]) -> str | None:
    """JSON compressed (gzip) and written in letters (base64); None for what would be too long anyway."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    if len(text) > HOPELESS:
        return None
    return b64encode(compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def _filled(template: str, context: dict[str, Any]) -> str:
    """A strict policy lets the page's own style and script run and nothing else."""
    style, script = _text("style.css"), _text("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    html = environment().get_template(template).render(context, style=style, script=script, policy=policy)
    return html.encode("utf-8", "replace").decode("utf-8")  # a name may hold half a character


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
    made.globals |= {"infinity": inf, "counted": counted}
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
