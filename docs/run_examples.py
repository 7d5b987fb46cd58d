"""Examples are run when the pages are built: their pictures are drawn, what a test leaves open is filled in, and the
examples of every tutorial become a notebook to download.

A line `<!-- picture NAME: what it shows -->` after an example stands for the variable `ax` at that place.
"""

from __future__ import annotations

import doctest
import json
import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
PICTURES, MADE = HERE / "pictures", HERE / "made"
MARK = re.compile(r"^<!-- picture (\S+): (.+?) -->$", re.MULTILINE)
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Runner(doctest.DocTestRunner):
    """Keeps what every example printed, and `ax` as it was after it."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        self.printed: dict[int, str] = {}
        self.axes: dict[int, object] = {}

    def report_success(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Called after an example that printed what it should."""
        self.printed[example.lineno], self.axes[example.lineno] = got, test.globs.get("ax")


@cache  # a page's pictures and its outputs come of one run
def run(text: str, name: str) -> tuple[list[doctest.Example], Runner]:
    """The examples of a text, and what came of them; an example that fails ends the build."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    runner = Runner()
    runner.run(test, clear_globs=False)
    if runner.failures:
        raise RuntimeError(f"an example of {name} fails")
    return test.examples, runner


def settled(text: str, name: str) -> str:
    """The text with the outputs of a run where its examples have "..." in theirs."""
    if not re.search(r"^(?!\s*(>>>|\.\.\.)).*\.\.\.", text, re.MULTILINE) or ">>>" not in text:
        return text
    open_ends = [e for e in doctest.DocTestParser().get_examples(text) if "..." in e.want]
    if not open_ends:
        return text
    _, runner = run(text, name)
    lines = text.splitlines()
    for example in reversed(open_ends):
        first = example.lineno + len(example.source.splitlines())
        printed = [" " * example.indent + line for line in runner.printed[example.lineno].splitlines()]
        lines[first : first + len(example.want.splitlines())] = printed
    return "\n".join(lines) + "\n"


def draw(text: str, name: str) -> None:
    """Save the pictures that a page asks for."""
    examples, runner = run(text, name)
    PICTURES.mkdir(exist_ok=True)
    for mark in MARK.finditer(text):
        line = text.count("\n", 0, mark.start())
        ax = runner.axes[max(e.lineno for e in examples if e.lineno < line)]
        ax.get_figure(root=True).savefig(PICTURES / f"{mark[1]}.svg", transparent=True, metadata={"Date": None})  # type: ignore[attr-defined]


def shown(text: str) -> str:
    """The page with pictures in the place of their marks."""
    return MARK.sub(lambda m: f"```{{image}} /pictures/{m[1]}.svg\n:alt: {m[2]}\n:class: drawn\n```", text)


def notebook(text: str) -> dict[str, object]:
    """The words and examples of a page as a notebook; pictures are shown by their axes' figure."""
    cells: list[dict[str, object]] = []
    for i, part in enumerate(BLOCK.split(text)):
        if i % 2:
            source = "".join(example.source for example in doctest.DocTestParser().get_examples(part))
            cells.append(
                {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
            )
        elif part.strip():
            if MARK.search(part) and cells:
                cells[-1]["source"] = f"{cells[-1]['source']}ax.get_figure(root=True)\n"
            words = MARK.sub("", part).strip()
            cells += [{"cell_type": "markdown", "metadata": {}, "source": words}] if words else []
    for k, cell in enumerate(cells):
        cell["id"], cell["source"] = f"cell-{k}", str(cell["source"]).rstrip("\n")
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def before_reading(app: object) -> None:
    """Draw all pictures and write all notebooks."""
    for page in sorted(HERE.rglob("*.md")):
        text, name = page.read_text(encoding="utf-8"), page.relative_to(HERE).as_posix()
        if MARK.search(text):
            draw(text, name)
        if page.parent.name == "tutorials":
            (MADE / "notebooks").mkdir(parents=True, exist_ok=True)
            (MADE / "notebooks" / f"{page.stem}.ipynb").write_text(
                json.dumps(notebook(text), indent=1), encoding="utf-8"
            )


def on_reading(app: object, name: str, source: list[str]) -> None:
    """Pictures, outputs and the link to the notebook; doctests end with an empty line that no reader needs."""
    text = shown(settled(source[0], name))
    if name.startswith("tutorials/"):
        title, _, rest = text.partition("\n")
        link = f"notebooks/{name.removeprefix('tutorials/')}.ipynb"
        text = f'{title}\n\n<a class="notebook" href="../{link}" download>Download this page as a notebook</a>\n{rest}'
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", text)


def setup(app) -> dict[str, bool]:  # type: ignore[no-untyped-def]
    """Registered as a Sphinx extension."""
    app.connect("builder-inited", before_reading)
    app.connect("source-read", on_reading)
    return {"parallel_read_safe": True}
