"""What the compiled kernels are given by mistake is refused; and Ctrl-C stops them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.recursions.conftest import compiled

PARENT, GROUP = np.array([-1, 0, 0, 1]), np.array([0, 1, 0, 1])
TRANSITION, OWN, LAW = np.full((2, 3, 3), 1 / 3), np.ones((2, 3)), np.full(3, 1 / 3)
GOOD = {
    "levels": (PARENT,),
    "inward": (PARENT, GROUP, TRANSITION, OWN, LAW),
    "downward": (LAW, PARENT, GROUP, TRANSITION),
    "visits": (LAW, PARENT, GROUP, TRANSITION),
    "level_visits": (LAW, TRANSITION[0], np.ones(5)),
    "reach": (LAW > 0, PARENT, GROUP, TRANSITION > 0),
}
TREES = {
    "no node": np.array([], dtype=np.int64),
    "no root": np.array([0, 0, 0, 1]),
    "a parent after its child": np.array([-1, 0, 3, 1]),
    "its own parent": np.array([-1, 1, 0, 1]),
    "a parent far outside": np.array([-1, 2**62, 0, 1]),
    "a second root": np.array([-1, 0, -1, 1]),
}
GROUPS = {"negative": np.array([0, -1, 0, 1]), "too large": np.array([0, 2, 0, 1]), "too short": np.array([0, 1, 0])}


def variants(name):
    """Bad arguments for a kernel: (what is wrong, arguments)."""
    good = GOOD[name]
    for i, array in enumerate(good):
        if array is PARENT:
            yield from ((f"parent: {what}", good[:i] + (bad,) + good[i + 1 :]) for what, bad in TREES.items())
        elif array is GROUP:
            yield from ((f"group: {what}", good[:i] + (bad,) + good[i + 1 :]) for what, bad in GROUPS.items())
        bad_shapes = {
            "one axis more": array[None],
            "one axis less": array[0],
            "another type": array.astype(np.float32),
            "a list": array.tolist(),
            "not contiguous": np.repeat(array, 2, axis=0)[::2],
        }
        if not (name == "level_visits" and i == 2):  # counts may have any length
            bad_shapes["empty"] = array[:0]
        if array is LAW or array is OWN or array is GROUP:  # trees may be longer, and have groups nobody uses
            bad_shapes["longer"] = np.concatenate([array, array])
        yield from ((f"argument {i}: {what}", good[:i] + (bad,) + good[i + 1 :]) for what, bad in bad_shapes.items())


CASES = [pytest.param(name, bad, id=f"{name}: {what}") for name in GOOD for what, bad in variants(name)]


# An install without the extension has no compiled kernels that could be misused.
@pytest.mark.parametrize(("name", "arguments"), CASES if compiled else [])
def test_bad_arguments_raise(name, arguments):
    with pytest.raises((ValueError, TypeError)):
        getattr(compiled, name)(*arguments)


@pytest.mark.parametrize("n", [40, 150_000] if compiled else [])
@pytest.mark.parametrize("which", ["parent", "group"] if compiled else [])
def test_one_bad_index_anywhere_raises(n, which):
    # Breadth first, indices are only looked at when their turn comes, on one of several threads.
    rng = np.random.default_rng(n)
    given = {"parent": (np.arange(n) - 1) // 3, "group": rng.integers(0, 2, n)}
    for bad in (-(2**63), -2, 2, n, 2**63 - 1) if which == "group" else (-(2**63), -1, n, 2**62, 2**63 - 1):
        for place in (0, 1, n // 3, n - 1, *rng.integers(1, n, 3)):
            if which == "parent" and place == 0 and bad == -1:
                continue
            wrong = given[which].copy()
            wrong[place] = bad
            parent, group = (wrong if name == which else given[name] for name in given)
            with pytest.raises(ValueError, match=which):
                compiled.inward(parent, group, TRANSITION, OWN, LAW)


@pytest.mark.parametrize("name", GOOD if compiled else [])
def test_good_arguments_do_not(name):
    getattr(compiled, name)(*GOOD[name])


@pytest.mark.parametrize("name", ["fast", ""] if compiled else [])
def test_an_unknown_target_raises(name):
    with pytest.raises(ValueError, match="cannot run"):
        compiled.set_target(name)


LONG = {
    "level_visits": "k.level_visits(np.full(200, 1 / 200), np.full((200, 200), 1 / 200), np.ones(10**6))",
    "inward": "k.inward(np.arange(-1, 99_999), np.zeros(10**5, int), *map(np.ones, [(1, 150, 150), (1, 150), 150]))",
}


@pytest.mark.parametrize("name", LONG if compiled else [])
def test_ctrl_c_stops_a_kernel(name):
    code = f"import numpy as np; from hidiv import _kernels as k; print('go', flush=True); {LONG[name]}; print('end')"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True) as run:
        assert run.stdout.readline() == "go\n"
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, err = run.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert out == ""
    assert time.monotonic() - asked < 5.0  # either call takes longer than that to finish
