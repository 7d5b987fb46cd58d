"""An installed wheel, tried without pytest: run by `make wheel` and by the builds of wheels for other systems.

python tests/install/wheel.py [--python]    --python: a wheel without kernels is what was wanted
"""

from __future__ import annotations

import math
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import hidiv as hd
from hidiv.recursions.kernels import description


def main() -> None:
    """Every kind of number once, each against its value."""
    assert not Path(hd.__file__).is_relative_to(Path.cwd() / "src"), "this is the source tree, not the wheel"
    assert version("hidiv") == hd.__version__
    wanted = "python" if "--python" in sys.argv else "compiled"
    assert description().startswith(wanted), f"kernels: {description()}, wanted: {wanted}"

    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    values = {
        "joint": (hd.joint_kl(p, q, 100), 56.7905278691),
        "joint rate": (hd.joint_kl_rate(p, q), 0.568057850529),
        "observed rate": (hd.observed_kl_rate(p, q), 0.465894142508),
        "posterior": (hd.posterior_kl(p, q, [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]), 0.712347232789),
    }
    for name, (value, right) in values.items():
        assert math.isclose(float(value), right, rel_tol=1e-11), (name, float(value), right)
    assert hd.pairwise_kl([p, q], 100).shape == (2, 2)
    states, x = hd.sample(p, 1000, seed=0)
    assert len(states) == 1000
    assert hd.fit(x, None, 2, "categorical", n_init=1, seed=0).log_likelihood < 0

    script = "import sys; from hidiv.cli.main import main; sys.argv = ['hidiv', '--help']; main()"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "compare" in shown
    print(f"hidiv {hd.__version__} on Python {sys.version.split()[0]}: the wheel works")


if __name__ == "__main__":
    main()
