"""Results that are computed once, read by several threads at the same time."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from clew._parallel import Once, unlocked_property

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
