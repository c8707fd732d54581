"""What is switched off while much is loaded is on again afterwards, however many threads load."""

import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from labgrade.subjects.importing import importing_quickly, without_garbage_collection


def test_nobody_looks_for_garbage_until_the_last_thread_has_left():
    first_is_in, second_is_in, first_left = Event(), Event(), Event()

    def first():
        with importing_quickly():
            first_is_in.set()
            second_is_in.wait(10)
        first_left.set()

    def second():
        first_is_in.wait(10)
        with without_garbage_collection():
            second_is_in.set()
            first_left.wait(10)
            return gc.isenabled()

    with ThreadPoolExecutor(2) as threads:
        threads.submit(first)
        looks_meanwhile = threads.submit(second).result(timeout=30)
    assert not looks_meanwhile
    assert gc.isenabled()


def test_who_had_switched_it_off_finds_it_off():
    gc.disable()
    try:
        with without_garbage_collection(), without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
