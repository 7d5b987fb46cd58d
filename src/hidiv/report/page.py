"""A page in one HTML file: template, style, script and numbers put together, so that nothing has to be fetched."""

from __future__ import annotations

import json
import platform
from base64 import b64encode
from functools import cache
from gzip import compress
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from math import inf, isinf
from typing import TYPE_CHECKING, Any, NamedTuple

from hidiv.errors import MissingExtra, OutOfRange, counted, refuse
from hidiv.report.digits import digits, half_width, is_estimate, shown, with_error

if TYPE_CHECKING:
    from jinja2 import Environment


LARGEST = 1_000_000  # bytes of a page
HOPELESS = 6 * LARGEST  # bytes of JSON; compressed it still would not fit


class Page(NamedTuple):
    """A page and its JSON, which is part of the page or, if too long for that, the file `json_name` next to it."""

    html: str
    data: dict[str, Any]
    json_name: str | None = None

    def data_text(self) -> str:
        """The JSON as the text of a file."""
        return json.dumps(self.data, indent=1, allow_nan=False) + "\n"


def render(template: str, context: dict[str, Any], json_name: str, display: dict[str, Any] | None = None) -> Page:
    """The page with `context["result"]` packed into it, or with a link to the file `json_name` if that does not fit.

    `display` is the part of the result that the script shows, in fewer digits: it is packed into a page with a link.
    """
    for packable, link in ((context["result"], None), (display or {}, json_name), ({}, json_name)):
        packed = pack(packable)
        if packed is not None:
            html = _filled(template, context | {"packed": packed, "json_name": link})
            if len(html.encode("utf-8")) <= LARGEST:
                return Page(html, context["result"], link)
    size = f"{len(html.encode('utf-8'))} bytes"
    refuse(OutOfRange, "report", f"a page may have {LARGEST} bytes", size, "give shorter data or fewer models")


def pack(data: dict[str, Any]) -> str | None:
    """JSON compressed (gzip) and written as text (base64); None if it would be too long anyway."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    if len(text) > HOPELESS:
        return None
    return b64encode(compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def _filled(template: str, context: dict[str, Any]) -> str:
    """The finished HTML, with a content policy that allows the page's own style and script and nothing else."""
    style, script = _text("style.css"), _text("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    html = environment().get_template(template).render(context, style=style, script=script, policy=policy)
    return html.encode("utf-8", "replace").decode("utf-8")  # a name may hold a lone surrogate


@cache
def environment() -> Environment:
    """The templates; they escape whatever is put into them."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        refuse(MissingExtra, "report", "jinja2 is not installed", remedy="pip install 'hidiv[report]'")
    templates = Environment(
        loader=PackageLoader("hidiv.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    templates.filters["g"] = shown
    templates.filters |= {"pm": with_error, "digits": digits, "half_width": half_width}
    templates.tests["estimate"] = is_estimate
    templates.filters["nbsp"] = lambda text: str(text).replace(" %", "\N{NO-BREAK SPACE}%")
    templates.filters["upper_first"] = lambda text: str(text)[:1].upper() + str(text)[1:]
    templates.globals |= {"infinity": inf, "counted": counted}
    templates.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False, "separators": (",", ":")}
    return templates


def short(values: Any, digits: int = 6) -> Any:
    """Nested lists of numbers rounded to a few digits, infinities as text: for the display, not for the JSON."""
    if isinstance(values, list | tuple):
        return [short(value, digits) for value in values]
    if hasattr(values, "tolist"):
        return short(values.tolist(), digits)
    if isinstance(values, float):
        return ("inf" if values > 0 else "-inf") if isinf(values) else float(f"{values:.{digits}g}")
    return values


def _text(name: str) -> str:
    """The text of a file among the templates."""
    return (files("hidiv.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash of a style or script, as a content policy names it."""
    return "sha256-" + b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")


def versions() -> dict[str, str]:
    """The version of each library, and which kernels ran."""
    from hidiv import __version__
    from hidiv.recursions.kernels import description

    return {
        "hidiv": __version__,
        "kernels": description(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "Python": platform.python_version(),
    }
