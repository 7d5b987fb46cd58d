"""The same matrix, bit for bit, wherever its blocks are computed, and whoever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import zarr

import hidiv as hd
from hidiv.comparison.pairwise.executors import one_blas_thread
from hidiv.errors import HidivError, InvalidFile
from tests.comparison.driver import matrix, models
from tests.comparison.many import model, stacked

BLOCKS = 8 * 8


@pytest.fixture(scope="module")
def serial():
    return np.asarray(matrix(executor="serial"))


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as running:
        yield running


def finished(store):
    """Nothing lost, nothing doubled: every block written once, no entry left."""
    group = zarr.open_group(store, mode="r")
    assert (group["written"][...] == 1).all()
    assert not np.isnan(group["values"][...]).any()
    return group["values"][...]


def test_threads_and_processes_give_the_same_bits(serial):
    assert (np.asarray(matrix()) == serial).all()
    assert (np.asarray(matrix(executor="processes")) == serial).all()


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_matrix_in_one_piece_has_the_bits_and_notes_of_its_blocks(symmetric):
    rng = np.random.default_rng(5)
    ms = [model(rng, "poisson", 2) for _ in range(130)]
    ms += [hd.Model(m.initial, m.transition, hd.Poisson(m.emission.rate * (1 + 1e-9))) for m in ms[:20]]
    whole, blocks = (hd.pairwise_kl(ms, 9, symmetric=symmetric, executor=where) for where in (None, "serial"))
    assert (np.asarray(whole) == np.asarray(blocks)).all()
    assert whole.notes == blocks.notes
    assert any("too close for the product" in note for note in whole.notes)
    one = hd.pairwise_kl(ms, 9, ms[:3], executor=None)
    assert (np.asarray(one) == np.asarray(hd.pairwise_kl(ms, 9, ms[:3], executor="serial"))).all()


def test_every_quantity_travels(cluster):
    from distributed import Client

    rng = np.random.default_rng(1)
    ms = [model(rng, family, 2) for family in ("gaussian", "gaussian", "laplace", "laplace")]
    same = ms[:2]
    x = [0.5, 1.0, -1.0]
    with Client(cluster) as client:
        for quantity, some, options in (
            ("joint", same, {"symmetric": True}),
            ("observed", same, {}),
            ("posterior", same, {"evidence": x}),
            ("joint", ms[2:], {}),
        ):
            here, there = (
                np.asarray(hd.pairwise_kl(some, 3, quantity=quantity, memory=64, executor=where, **options))
                for where in ("serial", client)
            )
            assert (here == there).all()


def test_drawn_measures_tests_and_fits_travel(cluster):
    from distributed import Client

    rng = np.random.default_rng(2)
    sets = {name: [rng.poisson(rate, 12) for _ in range(8)] for name, rate in (("few", 1.0), ("many", 4.0))}
    ms = [model(rng, "gaussian", 2) for _ in range(3)]
    asked = {"n_states": 1, "emission": "poisson", "n_init": 1, "seed": 1}
    with Client(cluster) as client:
        for where in ("serial", client):
            matrix = hd.pairwise(ms, 4, measure="hellinger", rtol=0.2, memory=64, executor=where)
            found = hd.differ(sets, permutations=99, executor=where, **asked)
            fits = hd.fit_many(sets, executor=where, **asked)
            if where == "serial":
                here = matrix, found, fits
    assert (np.asarray(matrix) == np.asarray(here[0])).all()
    assert (np.asarray(matrix.std_error) == np.asarray(here[0].std_error)).all()
    assert found == here[1]
    assert list(fits) == list(here[2])


def test_a_store_is_filled_once_and_taken_up_again(serial, tmp_path):
    store = tmp_path / "matrix.zarr"
    calls = []
    found = matrix(store=store, progress=lambda *at: calls.append(at))
    assert [done for done, _ in calls] == list(range(1, BLOCKS + 1))
    assert (finished(store) == serial).all()
    assert (np.asarray(found) == serial).all()
    assert found[3, 4] == serial[3, 4]
    assert found.notes == matrix().notes
    calls.clear()
    assert (np.asarray(matrix(store=store, progress=lambda *at: calls.append(at))) == serial).all()
    assert calls == []


def test_a_symmetric_store(tmp_path):
    store = tmp_path / "matrix.zarr"
    matrix(store=store, symmetric=True)
    group = zarr.open_group(store, mode="r")
    written = group["written"][...]
    assert (written == np.triu(np.ones((8, 8)))).all()  # a block above the diagonal brings the one below
    both = group["values"][...]
    assert (both == both.T).all()
    assert (both == np.asarray(matrix(symmetric=True, executor="serial"))).all()


def test_another_matrix_is_refused(tmp_path):
    store = tmp_path / "matrix.zarr"
    some = stacked(4, 1)
    hd.pairwise_kl(some, 10, store=store)
    hd.pairwise_kl(some, hd.Tree.chain(10), store=store)
    hd.pairwise_kl(list(some), 10, store=store)
    for other in (
        lambda: hd.pairwise_kl(stacked(4, 2), 10, store=store),
        lambda: hd.pairwise_kl(some, 11, store=store),
        lambda: hd.pairwise_kl(some, 10, store=store, symmetric=True),
        lambda: hd.pairwise_kl(some, 10, store=store, quantity="observed"),
        lambda: hd.pairwise_kl(some, 10, store=store, level_weights="equal"),
        lambda: hd.pairwise_kl(some, 10, store=store, memory=64),
        lambda: hd.pairwise_kl(some, 10, stacked(4, 2), store=store),
        lambda: hd.pairwise_kl(some, 10, store=store, quantity="posterior", evidence=[0] * 10),
    ):
        with pytest.raises(HidivError, match="was begun with other models, another tree or other options"):
            other()
    given = tmp_path / "given.zarr"
    hd.pairwise_kl(some, None, store=given, quantity="posterior", evidence=[0, 1, 2])
    with pytest.raises(HidivError, match="was begun with other models"):
        hd.pairwise_kl(some, None, store=given, quantity="posterior", evidence=[0, 1, 3])
    zarr.open_group(tmp_path / "other.zarr", mode="w").create_array("x", shape=(1,), dtype="f8")
    with pytest.raises(InvalidFile, match="holds something other than a pairwise matrix"):
        hd.pairwise_kl(some, 10, store=tmp_path / "other.zarr")
    (tmp_path / "file").write_text("no store")
    with pytest.raises(InvalidFile, match="is no store that can be opened"):
        hd.pairwise_kl(some, 10, store=tmp_path / "file")


def estimates(**options):
    rng = np.random.default_rng(2)
    ms = [model(rng, "poisson", 2) for _ in range(7)]
    return hd.pairwise_kl(ms, 6, quantity="observed", samples=15, seed=3, memory=64 * 3**2, **options)


@pytest.mark.parametrize("symmetric", [False, True])
def test_estimates_and_their_errors_travel_and_are_kept(symmetric, cluster, tmp_path):
    from distributed import Client

    here = estimates(executor="serial", symmetric=symmetric)
    assert (np.diag(np.asarray(here)) == 0).all()
    assert (here.std_error[~np.eye(7, dtype=bool)] > 0).all()
    store = tmp_path / "matrix.zarr"
    with Client(cluster) as client:
        there = estimates(executor=client, store=store, symmetric=symmetric)
    for found in (estimates(symmetric=symmetric), there):
        assert found.status == "estimate"
        assert (np.asarray(found) == np.asarray(here)).all()
        assert (np.asarray(found.std_error) == here.std_error).all()
    group = zarr.open_group(store)
    if symmetric:  # squares
        group["written"][0, 1] = 0  # as if the driver had died there
        group["errors"][0:3, 3:6] = np.nan
    else:  # whole rows, so that each model is drawn once
        assert group["written"].shape == (7, 1)
        group["written"][1, 0] = 0
        group["errors"][1] = np.nan
    calls = []
    again = estimates(store=store, symmetric=symmetric, progress=lambda *at: calls.append(at))
    assert len(calls) == 1
    assert (np.asarray(again.std_error) == here.std_error).all()
    rng = np.random.default_rng(2)
    ms = [model(rng, "poisson", 2) for _ in range(7)]
    for other, differs in (({"seed": 4, "samples": 15}, "seed"), ({"seed": 3, "samples": 16}, "samples"), ({}, "")):
        options = {"quantity": "observed", "memory": 64 * 3**2, "symmetric": symmetric, **other}
        with pytest.raises(HidivError, match=rf"was begun with other models.*{differs}"):
            hd.pairwise_kl(ms, 6, store=store, **options)


def test_a_damaged_store_is_refused_in_a_sentence(tmp_path):
    some = stacked(4, 1)

    def begun(name):
        hd.pairwise_kl(some, 10, store=tmp_path / name)
        return tmp_path / name

    for name, damage, sentence in (
        ("a", lambda at: (at / "values" / "zarr.json").unlink(), "its array values cannot be read"),
        ("b", lambda at: (at / "written" / "c" / "0" / "0").write_bytes(b"?"), "its array written cannot be read"),
        ("c", lambda at: (at / "direct" / "zarr.json").write_text("{"), "its array direct cannot be read"),
        ("d", lambda at: (at / "zarr.json").write_text("{"), "is no store that can be opened"),
    ):
        store = begun(name)
        damage(store)
        with pytest.raises(InvalidFile, match=sentence) as caught:
            hd.pairwise_kl(some, 10, store=store)
        assert "\n" not in str(caught.value)
    store = begun("e")
    group = zarr.open_group(store)
    del group.attrs["hidiv.pairwise"]  # killed before the first block: begun anew
    assert (np.asarray(hd.pairwise_kl(some, 10, store=store)) == np.asarray(hd.pairwise_kl(some, 10))).all()


def test_a_worker_is_killed_and_the_run_completes(cluster, serial, tmp_path):
    from distributed import Client

    store = tmp_path / "matrix.zarr"
    with Client(cluster) as client:
        victims = []

        def kill(done, _):
            if done == 5:
                victims.append(next(iter(client.run(os.getpid).values())))
                os.kill(victims[0], signal.SIGKILL)

        found = matrix(executor=client, store=store, progress=kill)
        assert len(victims) == 1
        client.wait_for_workers(2)  # the nanny brings another one
    assert (np.asarray(found) == serial).all()
    assert (finished(store) == serial).all()


@pytest.mark.parametrize("where", ["serial", "dask"])
def test_the_driver_is_killed_and_a_second_run_does_what_is_left(where, cluster, serial, tmp_path):
    from distributed import Client

    store = tmp_path / "matrix.zarr"
    scheduler = [cluster.scheduler_address] if where == "dask" else []
    command = [sys.executable, "-m", "tests.comparison.driver", str(store), *scheduler]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        for _ in range(6):
            assert run.stdout.readline()
        run.send_signal(signal.SIGKILL)
        run.wait(30)
        rest = run.stdout.read().splitlines()
    assert run.returncode == -signal.SIGKILL
    before = int((zarr.open_group(store, mode="r")["written"][...]).sum())
    assert 6 <= before <= 7 + len(rest) < BLOCKS
    calls = []
    if where == "dask":
        with Client(cluster) as client:
            matrix(store=store, executor=client, progress=lambda *at: calls.append(at))
    else:
        matrix(store=store, executor="serial", progress=lambda *at: calls.append(at))
    assert calls[0] == (before + 1, BLOCKS)
    assert len(calls) == BLOCKS - before
    assert (finished(store) == serial).all()


def test_blas_is_limited_while_anybody_is_inside():
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        outside = threads()
        with one_blas_thread():
            with one_blas_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == outside
    assert len(models()) == 150


@pytest.mark.parametrize(
    ("executor", "symmetric"), [(None, False), ("serial", False), ("serial", True), ("processes", True)]
)
def test_an_interrupt_keeps_finished_blocks(executor, symmetric):
    rng = np.random.default_rng(3)
    many = [model(rng, "gaussian", 2) for _ in range(6)]
    whole = np.asarray(hd.pairwise_kl(many, 5, symmetric=symmetric))

    def stop(done, total):
        if done == 4:
            raise KeyboardInterrupt

    options = {"symmetric": symmetric, "executor": executor, "memory": 256, "progress": stop}  # blocks of two models
    with pytest.raises(KeyboardInterrupt):
        hd.pairwise_kl(many, 5, **options)
    found = hd.pairwise_kl(many, 5, **options, keep_finished=True)
    assert 8 <= found.finished.sum() < 36
    assert (np.isnan(np.asarray(found)) == ~found.finished).all()
    assert np.asarray(found)[found.finished].tolist() == whole[found.finished].tolist()
    assert found.notes[-1].startswith(f"interrupted: {found.finished.sum()} of 36 pairs are finished")
    if symmetric:
        assert (found.finished == found.finished.T).all()


def test_blocks_that_were_being_computed_are_kept_too():
    from concurrent.futures import Future

    from hidiv.comparison.pairwise.executors import _in_turn

    class Stopped(Future):
        def result(self, timeout=None):
            del Stopped.result  # once
            raise KeyboardInterrupt

    first, second, third = Stopped(), Future(), Future()
    for future, value in ((first, "one"), (second, "two")):
        future.set_running_or_notify_cancel()
        future.set_result(value)
    found = _in_turn([first, second, third])
    assert [next(found), next(found)] == ["one", "two"]
    with pytest.raises(KeyboardInterrupt):
        next(found)
    assert third.cancelled()
