"""Results that a page shows besides its comparison: each has a section with its question and its own words."""

from __future__ import annotations

from typing import Any

from hidiv.errors import HidivError, refuse

QUESTIONS = {
    "Difference": "Do the groups of data differ?",
    "Reduction": "Could there be fewer states?",
    "Choice": "How many states?",
    "Equivalence": "Are they the same process?",
    "Minimal": "Are some of the states one?",
    "Matching": "Which state is which?",
    "Agreement": "Do the fits agree?",
    "StandardErrors": "How sure are the parameters?",
    "DivergenceInterval": "How sure is the divergence of the fits?",
    "BootstrapResult": "How sure is the divergence of the fits?",
    "FitResult": "How did the fit go?",
    "Measure": "By another measure",
}


def section(result: Any) -> dict[str, str]:
    """A result as the key, the heading and the words of its section."""
    kind = type(result).__name__
    if kind not in QUESTIONS or not type(result).__module__.startswith("hidiv."):
        refuse(HidivError, "results", f"a page has sections for a {', a '.join(QUESTIONS)}", kind)
    words = repr(result)
    if kind in ("Choice", "FitResult"):
        words = f"{words}\n{result.summary()}" if kind == "Choice" else result.summary()
    return {"key": kind.lower(), "title": QUESTIONS[kind], "words": words}
