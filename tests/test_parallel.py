"""Tasks in threads: order, reports, and what happens when one of them fails."""

import logging
import pickle
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from joblib import parallel_config
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from clew._parallel import (
    Once,
    _release_blas,
    blocks,
    in_threads,
    one_blas_thread,
    one_library_thread,
    stop_if_abandoned,
    unlocked_property,
)


@pytest.mark.parametrize(
    ("n", "size", "expected"),
    [(0, 3, []), (2, 3, [(0, 2)]), (6, 3, [(0, 3), (3, 6)]), (7, 3, [(0, 3), (3, 6), (6, 7)])],
)
def test_blocks_cover_the_range(n, size, expected):
    assert blocks(n, size) == expected


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_keep_the_order_of_the_tasks(n_jobs):
    assert in_threads(lambda k: k * k, range(50), n_jobs=n_jobs) == [k * k for k in range(50)]
    assert in_threads(lambda k: k, [], n_jobs=n_jobs) == []


def test_n_jobs_none_is_the_number_of_joblib():
    seen = set()

    def note(task):
        seen.add(threading.get_ident())
        barrier.wait(timeout=30)

    barrier = threading.Barrier(2)
    with parallel_config(n_jobs=2):
        in_threads(note, range(2), n_jobs=None)
    assert len(seen) == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callback_is_called_for_every_task_in_the_calling_thread(n_jobs):
    calls = []

    def callback(done, n):
        calls.append((done, n, threading.get_ident()))

    in_threads(str, range(5), n_jobs=n_jobs, callback=callback)
    assert calls == [(done, 5, threading.get_ident()) for done in range(1, 6)]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_errors_of_tasks_and_callbacks_are_raised(n_jobs, error):
    def fail(*_):
        raise error("stop")

    with pytest.raises(error, match="stop"):
        in_threads(fail, range(9), n_jobs=n_jobs)
    with pytest.raises(error, match="stop"):
        in_threads(str, range(9), n_jobs=n_jobs, callback=fail)


def test_no_task_begins_after_an_interruption():
    begun = []

    def interrupt(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads(begun.append, range(100), n_jobs=1, callback=interrupt)
    assert begun == [0, 1, 2]


def test_no_task_begins_in_another_thread_after_an_error():
    begun = []

    def slow(task):
        begun.append(task)
        time.sleep(0.005)

    def give_up(done, _):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        in_threads(slow, range(100), n_jobs=2, callback=give_up)
    n_begun = len(begun)
    assert n_begun < 50
    time.sleep(0.05)
    assert len(begun) == n_begun


@pytest.mark.parametrize("inner_jobs", [1, 2])
def test_nested_tasks_end_when_the_outermost_call_raises(inner_jobs):
    is_running, ended = threading.Barrier(2), []

    def inner(task):
        if task == 0:
            is_running.wait(timeout=30)
        for _ in range(3000):
            stop_if_abandoned()
            time.sleep(0.01)

    def outer(task):
        if task == 0:
            is_running.wait(timeout=30)
            raise RuntimeError("enough")
        try:
            in_threads(inner, range(4), n_jobs=inner_jobs)
        finally:
            ended.append(time.monotonic())

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        in_threads(outer, range(2), n_jobs=2)
    assert len(ended) == 1
    assert time.monotonic() - start < 10  # 30 s for one task, if nothing stopped it


@pytest.mark.parametrize(("n_jobs", "n_threads"), [(2, 2), (4, 4), (5, 4)])
def test_nested_calls_share_the_threads(n_jobs, n_threads):
    lock, both_are_in = threading.Lock(), threading.Barrier(2)
    n_inside, most = [0], [0]

    def inner(_):
        with lock:
            n_inside[0] += 1
            most[0] = max(most[0], n_inside[0])
        time.sleep(0.01)
        with lock:
            n_inside[0] -= 1

    def outer(_):
        both_are_in.wait(timeout=30)
        in_threads(inner, range(8), n_jobs=n_jobs)

    in_threads(outer, range(2), n_jobs=n_jobs)
    assert most[0] <= n_threads
    in_threads(inner, range(2), n_jobs=n_jobs)  # the share ends with the call


def test_each_thread_has_one_thread_of_openmp(two_library_threads):
    def openmp_threads(_):
        both_are_in.wait(timeout=30)
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "openmp"]

    both_are_in = threading.Barrier(2)
    for found in in_threads(openmp_threads, range(2), n_jobs=2):
        assert set(found) <= {1}
    assert _library_threads() == two_library_threads


def test_tasks_of_calls_that_continue_are_not_stopped():
    def fail(_):
        raise RuntimeError("stop")

    stop_if_abandoned()
    with pytest.raises(RuntimeError, match="stop"):
        in_threads(fail, range(4), n_jobs=2)
    stop_if_abandoned()
    assert in_threads(str, range(3), n_jobs=2) == ["0", "1", "2"]


@pytest.mark.parametrize(("verbose", "n_messages"), [(0, 0), (1, 1), (2, 4)])
def test_verbose_goes_to_the_log(caplog, capsys, verbose, n_messages):
    with caplog.at_level(logging.INFO, logger="clew"):
        in_threads(str, range(4), n_jobs=1, verbose=verbose, what="trees")
    assert len(caplog.records) == n_messages
    assert all("trees" in record.getMessage() for record in caplog.records)
    assert capsys.readouterr() == ("", "")


def _library_threads():
    return [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info()]


@pytest.fixture
def two_library_threads():
    """Give each library two threads.

    BLAS is limited in a thread that ends, so that no running thread holds its limits.
    """
    before = threadpool_info()
    with ThreadPoolExecutor(1) as pool:
        limits = pool.submit(threadpool_limits, 2).result()
    threadpool_limits({lib["prefix"]: 2 for lib in before if lib["user_api"] == "openmp"})
    yield _library_threads()
    limits.restore_original_limits()
    _release_blas()


def test_overlapping_blocks_restore_the_number_of_library_threads(two_library_threads):
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first():
        with one_library_thread():
            first_is_in.set()
            second_is_in.wait(timeout=30)
        first_is_out.set()

    def second():
        first_is_in.wait(timeout=30)
        with one_library_thread():
            second_is_in.set()
            first_is_out.wait(timeout=30)
            assert {n for _, n in _library_threads()} == {1}

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(first), pool.submit(second)]:
            future.result()
        assert _library_threads() == two_library_threads


def test_a_thread_that_limited_blas_within_a_block_does_not_keep_others_from_restoring(
    two_library_threads,
):
    is_out, is_restored = threading.Event(), threading.Event()

    def within():
        openmp = ThreadpoolController().select(user_api="openmp")
        with openmp.limit(limits=1):  # control of BLAS ends with the outermost limit
            with one_blas_thread(), threadpool_limits(1, user_api="blas"):
                pass
            is_out.set()
            is_restored.wait(timeout=30)

    with ThreadPoolExecutor(1) as pool:
        with one_blas_thread():
            inner = pool.submit(within)
            assert is_out.wait(timeout=30)
        found = {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
        is_restored.set()
        inner.result()
    assert found == {2}
    assert _library_threads() == two_library_threads


def test_an_error_within_a_block_restores_the_number_of_library_threads(two_library_threads):
    def fail():
        with one_library_thread(), one_blas_thread():
            assert {n for _, n in _library_threads()} == {1}
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail()
    assert _library_threads() == two_library_threads


def test_an_error_in_a_thread_does_not_change_the_warning_filters():
    def fail(task):
        if task == 1:
            raise RuntimeError("stop")
        time.sleep(0.05)

    before = list(warnings.filters)
    with pytest.raises(RuntimeError, match="stop"):
        in_threads(fail, range(9), n_jobs=2)
    assert list(warnings.filters) == before


LIMIT = 30  # seconds after which a barrier raises


def test_threads_that_read_the_same_result_wait_for_the_first():
    once, calls, both_are_ready = Once(), [], threading.Barrier(2)

    def make():
        calls.append(1)
        return object()

    def read():
        both_are_ready.wait(LIMIT)
        return once("key", make)

    with ThreadPoolExecutor(2) as pool:
        first, second = (future.result() for future in [pool.submit(read), pool.submit(read)])
    assert first is second
    assert len(calls) == 1


def test_different_results_are_computed_at_the_same_time():
    once, both_compute = Once(), threading.Barrier(2)

    def read(key):
        return once(key, lambda: (key, both_compute.wait(LIMIT))[0])

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(read, "ab")) == ["a", "b"]


def test_a_result_may_read_others_and_itself_after_an_error():
    once = Once()
    with pytest.raises(ZeroDivisionError):
        once("half", lambda: 1 / 0)
    assert once("sum", lambda: once("half", lambda: 2) + once("half", lambda: 3)) == 4


def test_results_are_pickled():
    once = Once()
    once("a", lambda: 1)
    copy = pickle.loads(pickle.dumps(once))
    assert copy("a", lambda: 2) == 1
    assert copy("b", lambda: 2) == 2


def test_an_unlocked_property_is_computed_for_two_objects_at_once():
    both_compute = threading.Barrier(2)

    class Thing:
        @unlocked_property
        def value(self):
            """Return an object."""
            both_compute.wait(LIMIT)
            return object()

    things = [Thing(), Thing()]
    with ThreadPoolExecutor(2) as pool:
        values = list(pool.map(lambda thing: thing.value, things))
    assert [
        thing.value for thing in things
    ] == values  # stored, so the barrier is not reached again
    assert isinstance(Thing.value, unlocked_property)
