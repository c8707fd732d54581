"""Processes that work off a list: what they tell, what they ask, and what happens where one of them dies."""

import multiprocessing
import os
import time

import pytest

from labgrade.run.events import WorkerLost
from labgrade.run.pool import Conversation, WorkerPool, WorkerQuestion

pytestmark = pytest.mark.slow


def works(conversation, folder):
    for job in conversation.jobs():
        if job == "deadly" or (job == "once" and not (folder / "tried").exists()):
            (folder / "tried").touch()
            os._exit(9)
        conversation.tell((job, conversation.ask("how?")))


def says_it_late(conversation, folder):
    for job in conversation.jobs():
        conversation.tell((job, 1), hurry=False)
        conversation.ask("how?")
        conversation.tell((job, 2), hurry=False)
        conversation.tell((job, 3))
        conversation.tell((job, 4), hurry=False)


def goes_on_for_long(conversation, folder):
    for job in conversation.jobs():
        conversation.tell((job, "begins"), hurry=False)
        while not (folder / "heard").exists():
            time.sleep(0.01)


def asks_nobody(conversation, folder):
    ours, theirs = multiprocessing.Pipe()
    theirs.close()
    for _ in conversation.jobs():
        try:
            Conversation(ours).ask("anybody?")
        except (EOFError, OSError) as error:
            conversation.tell(type(error).__name__)


def dies_at_once(conversation, folder):
    os._exit(7)


def done(size, jobs, folder, work=works):
    found = []
    with WorkerPool(size, work, folder) as pool:
        for each in pool.run(jobs):
            if isinstance(each, WorkerQuestion):
                each.answer(each.text + "!")
            elif each is not None:
                found.append(each)
    return found


@pytest.mark.parametrize("size", [1, 3])
def test_every_job_is_done_once(tmp_path, size):
    jobs = [f"job {number}" for number in range(20)]
    assert sorted(done(size, jobs, tmp_path)) == sorted((job, "how?!") for job in jobs)


def test_a_question_that_nobody_hears_is_an_error(tmp_path):
    assert done(1, ["a"], tmp_path, asks_nobody) in (["BrokenPipeError"], ["EOFError"])


def test_what_is_told_without_hurry_is_heard_in_its_place(tmp_path):
    assert done(1, ["a", "b"], tmp_path, says_it_late) == [(job, number) for job in "ab" for number in (1, 2, 3, 4)]


def test_what_is_told_without_hurry_is_heard_while_the_job_goes_on(tmp_path):
    deadline = time.monotonic() + 60
    with WorkerPool(1, goes_on_for_long, tmp_path) as pool:
        for each in pool.run(["a"]):
            assert each is not None or time.monotonic() < deadline, "it is heard only in the end"
            if each is not None:
                (tmp_path / "heard").touch()
    assert (tmp_path / "heard").exists()


@pytest.mark.parametrize("size", [1, 2])
def test_a_job_whose_process_died_is_tried_again_and_then_given_up(tmp_path, size):
    found = done(size, ["a", "once", "deadly", "b"], tmp_path)
    assert sorted(each[0] for each in found if not isinstance(each, WorkerLost)) == ["a", "b", "once"]
    assert [each for each in found if isinstance(each, WorkerLost)] == [WorkerLost("deadly", 9)]


def test_processes_that_can_not_begin_end_the_run(tmp_path):
    found = done(2, ["a", "b"], tmp_path, dies_at_once)
    assert found
    assert all(each == WorkerLost(None, 7) for each in found)


def test_no_process_outlives_the_pool(tmp_path):
    with WorkerPool(2, works, tmp_path) as pool:
        numbers = pool.processes
        assert len(numbers) == 2
        time.sleep(0.05)
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)
