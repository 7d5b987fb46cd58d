"""Random models and evidence far in the tails through the public functions, with kernels built under AddressSanitizer.

Every answer is a number or one sentence, every state a state. Run by `make test-sanitize`; without --kernels the
installed ones are used, and HIDIV_KERNELS=python tries their twins.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def load_kernels(folder):
    """The extension of a build folder, in the place of the installed one, which must not be loaded yet."""
    assert "hidiv._kernels" not in sys.modules
    [path] = Path(folder).resolve().glob("_kernels*.so")
    spec = spec_from_file_location("hidiv._kernels", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["hidiv._kernels"] = module
    return module


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", help="folder of a build")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.kernels:
        import hidiv  # noqa: F401  (the package first: the extension is a part of it)

        module = load_kernels(arguments.kernels)
        from hidiv.recursions.levels import levels

        assert levels is module.levels, "the kernels of another place are in use"
    warnings.simplefilter("error")
    from extremes import one_round

    for i in range(arguments.rounds):
        one_round((arguments.seed, i))
    from hidiv.recursions.kernels import description

    assert not arguments.kernels or sys.modules["hidiv._kernels"] is module
    print(f"fuzz: {arguments.rounds} rounds through Python, kernels {description()}")


if __name__ == "__main__":
    main()
