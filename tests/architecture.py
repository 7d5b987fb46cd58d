"""The parts of ARCHITECTURE.md that are read off the code: the map of folders, and the files a number passes through.

    python -m tests.architecture            print them
    python -m tests.architecture --write    write them into ARCHITECTURE.md

A way is traced in a process of its own that runs the numpy twins of the kernels, so that the list is the same on every
machine, and at its second call, so that imports and caches do not count.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOME = ROOT / "src" / "hidiv"
PAGE = ROOT / "ARCHITECTURE.md"
COMMAND = "python -m tests.architecture --write"

# Way of a number -> the call that is traced. The models are those of the README.
WAYS = {
    "joint": "hd.joint_kl(p, q, 100)",
    "posterior": "hd.posterior_kl(p, q, [0, 1, 2, 1, 0])",
    "observed rate": "hd.observed_kl_rate(p, q)",
    "all pairs": "hd.pairwise_kl([p, q], 100)",
}

# Folders of C++ have no docstring to take a line from.
KERNELS = {
    "kernels": "C++, one small file a kernel, compiled once for each instruction set.",
    "kernels/bindings": "What Python calls: checks of arrays, and one line a kernel.",
    "kernels/certified": "Belief grids and contexts of certified observed divergences.",
    "kernels/joint": "Levels, expected visits and Theorem 1 on trees.",
    "kernels/emission": "Log-densities of observations and their log-ratios.",
    "kernels/moments": "Weighted sums and squares of observations, for fits.",
    "kernels/one_model": "Likelihood, messages and expected counts of one model.",
    "kernels/pairs": "Matrix products and variational bounds of all pairs of many models.",
    "kernels/posterior": "Posterior divergences of chains, trees and batches.",
    "kernels/runtime": "The table of kernels, the choice of the instruction set, memory, threads, interrupts.",
    "kernels/sampled": "Log-ratios of sampled chains.",
    "kernels/simd": "Vectors of doubles, elementary functions on them, sums in doubled precision.",
}


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    text = " ".join(words.split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s+(?=[A-Z`])", text)[0]


def folders() -> str:
    """The tree of folders with what each holds, as a block of text."""
    rows = [("src/hidiv/", "")]
    rows += [(f"  {path.name}", first_sentence(path)) for path in sorted(HOME.glob("*.py")) if path.name[0] != "_"]
    for folder in sorted(path for path in HOME.rglob("*") if path.is_dir() and not path.name.startswith("__")):
        name = folder.relative_to(HOME).as_posix()
        if (folder / "__init__.py").exists():
            rows.append((_indented(name), first_sentence(folder / "__init__.py")))
        elif name.startswith("kernels"):
            rows.append((_indented(name), KERNELS[name]))
    width = max(len(name) for name, _ in rows)
    return "```\n" + "\n".join(f"{name:<{width}}  {words}".rstrip() for name, words in rows) + "\n```"


def _indented(name: str) -> str:
    return "  " * (name.count("/") + 1) + name.rsplit("/", 1)[-1] + "/"


def files_listed(files: list[str]) -> str:
    """The files of a way in the order in which they are first entered."""
    lines = [f"{i}. `{file}`: {first_sentence(HOME / file)}" for i, file in enumerate(files, 1)]
    return "\n".join([f"{len(files)} files:", "", *lines])


def trace() -> dict[str, list[str]]:
    """Way -> the files of hidiv whose functions run, in order, traced in another process."""
    environment = {**os.environ, "HIDIV_KERNELS": "python", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.architecture", "--trace"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    traced: dict[str, list[str]] = json.loads(done.stdout)
    return traced


def _traced_here() -> dict[str, list[str]]:
    import hidiv as hd

    home = str(Path(hd.__file__).parent) + os.sep
    p, q = (
        hd.Model([0.5, 0.5], transition, hd.Categorical(emission))
        for transition, emission in (
            ([[0.9, 0.1], [0.2, 0.8]], [[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]),
            ([[0.7, 0.3], [0.4, 0.6]], [[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]),
        )
    )
    ways: dict[str, list[str]] = {}
    for way, call in WAYS.items():
        code = compile(call, way, "eval")
        eval(code, {"hd": hd, "p": p, "q": q})
        entered: dict[str, None] = {}

        def enter(frame, event, _, entered=entered):  # type: ignore[no-untyped-def]
            if event == "call" and frame.f_code.co_filename.startswith(home):
                entered[Path(frame.f_code.co_filename[len(home) :]).as_posix()] = None

        sys.setprofile(enter)
        try:
            eval(code, {"hd": hd, "p": p, "q": q})
        finally:
            sys.setprofile(None)
        ways[way] = list(entered)
    return ways


def blocks() -> dict[str, str]:
    """Name of a block of ARCHITECTURE.md -> its text, read off the code."""
    return {"folders": folders()} | {way: files_listed(files) for way, files in trace().items()}


def block(page: str, name: str) -> str:
    """The text of a block as the page has it."""
    found = re.search(_between(name), page, re.DOTALL)
    assert found is not None, f"ARCHITECTURE.md has no block {name!r}"
    return found[2].strip("\n")


def _between(name: str) -> str:
    return rf"(<!-- {re.escape(name)}: .*? -->\n)(.*?)(\n?<!-- end -->)"


def rewritten(page: str, texts: dict[str, str]) -> str:
    """The page with its blocks replaced."""
    for name, text in texts.items():
        page = re.sub(
            _between(name), lambda found, text=text: found[1] + text + "\n<!-- end -->", page, flags=re.DOTALL
        )
    return page


def main(arguments: list[str]) -> None:
    """Print, write or trace."""
    if arguments == ["--trace"]:
        print(json.dumps(_traced_here()))
        return
    texts = blocks()
    if arguments == ["--write"]:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), texts), encoding="utf-8")
    else:
        print("\n\n".join(f"{name}\n\n{text}" for name, text in texts.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
