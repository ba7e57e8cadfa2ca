"""The one clock and the one flag that a fit looks at."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from fake_time import FakeTime
from slackwater.deadline import INTERRUPTS, NEVER, Clock, CutShort, Deadline, deadline_of_thread, pieces, working_until
from slackwater.kernels.blocks import block, combinations
from slackwater.kernels.registry import make_kernel
from slackwater.points import as_points
from slackwater.solvers.coupling import Balanced, Free, solve_in_slices
from slackwater.workers import Workers


def test_it_passes_exactly_at_its_limit():
    now = FakeTime()
    deadline = Deadline(Clock(now=now), 2.0)
    now.spend(1.9)
    deadline.check()
    now.spend(0.1)
    with pytest.raises(CutShort, match="max_time"):
        deadline.check()


def test_a_flag_ends_work_at_once_and_that_of_all_who_share_it():
    deadline = Deadline(Clock())
    part = deadline.within(1e9)
    deadline.interrupted.set()
    with pytest.raises(CutShort) as cut:
        part.check()
    assert cut.value.interrupted


def test_a_part_of_the_time_is_never_later_than_the_whole():
    deadline = Deadline(Clock(), 2.0)
    assert deadline.within(1.0).limit == 1.0
    assert deadline.within(3.0).limit == 2.0


def test_shielded_work_is_done_to_its_end():
    deadline = Deadline(Clock(), 0.0)
    with deadline.shielded():
        deadline.check()
    with pytest.raises(CutShort):
        deadline.check()


def test_what_cannot_be_cut_is_left_to_a_thread_of_its_own():
    gate, deadline = threading.Event(), Deadline(Clock(), 0.05)
    start = time.perf_counter()
    with pytest.raises(CutShort):
        deadline.aside(lambda: gate.wait(60.0))
    assert time.perf_counter() - start < 30.0
    gate.set()
    assert Deadline(Clock()).aside(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        Deadline(Clock()).aside(lambda: 1 / 0)


def test_threads_work_on_behalf_of_the_fit_that_they_help():
    deadline = Deadline(Clock())
    with Workers(2, deadline) as workers:
        assert workers.run(lambda _: deadline_of_thread() is deadline, range(8)) == [True] * 8
    with working_until(deadline):
        assert deadline_of_thread() is deadline
    assert deadline_of_thread() is NEVER


@pytest.mark.parametrize("threads", [1, 2])
def test_no_kernel_value_is_computed_after_the_deadline(threads):
    points = as_points(np.random.default_rng(0).standard_normal((3000, 5)))
    kernel = make_kernel("rbf", gamma=1.0, degree=3, coef0=0.0, points=points)
    with Workers(threads, Deadline(Clock(), 0.0)) as workers:
        out = np.full((3000, 3000), -1.0)
        with pytest.raises(CutShort):
            block(kernel, points, points, out=out, workers=workers)
        assert (out == -1.0).all()
        with pytest.raises(CutShort):
            combinations(kernel, points, points, np.ones((1, 3000)), workers)


@pytest.mark.parametrize("coupling", [Balanced(), Free()])
def test_steps_in_slices_are_those_of_one_slice(coupling, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    gram, labels = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)), np.where(rng.random(300) < 0.5, 1, -1).astype(np.int8)

    def solved():
        alpha, shortfall = np.zeros(300), np.ones(300)
        steps = solve_in_slices(coupling, gram, labels, np.full(300, 2.0), alpha, shortfall, 1e-3, 10**5, NEVER)
        return steps, alpha

    whole = solved()
    monkeypatch.setattr("slackwater.solvers.coupling._VALUES_A_SLICE", 300 * 7)
    parts = solved()
    assert parts[0] == whole[0] > 100
    np.testing.assert_array_equal(parts[1], whole[1])


def test_a_second_ctrl_c_raises_after_what_must_not_be_torn():
    flag, done = threading.Event(), []

    @INTERRUPTS.critical()
    def critical():
        signal.raise_signal(signal.SIGINT)
        done.append("the block went on")

    with INTERRUPTS.raising(flag):
        signal.raise_signal(signal.SIGINT)
        assert flag.is_set()
        with pytest.raises(KeyboardInterrupt):
            critical()
    assert done == ["the block went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("at", ["shutdown", "restore"])
def test_a_second_ctrl_c_leaves_blas_with_all_its_threads(at, monkeypatch):
    """Wherever it comes while threads are given back."""
    from slackwater import workers as module

    before = blas_threads()
    module._controller()
    flag = threading.Event()

    def press(*arguments, **named):
        signal.raise_signal(signal.SIGINT)
        return original(*arguments, **named)

    workers = Workers(2)
    with INTERRUPTS.raising(flag):
        signal.raise_signal(signal.SIGINT)
        workers.__enter__()
        holder, name = (
            (workers._executor, "shutdown")
            if at == "shutdown"
            else (module._single_threaded_blas._limiter, "restore_original_limits")
        )
        original = getattr(holder, name)
        monkeypatch.setattr(holder, name, press)
        with pytest.raises(KeyboardInterrupt):
            workers.__exit__(None, None, None)
    assert blas_threads() == before


def test_pieces_are_looked_at_one_by_one():
    with working_until(Deadline(Clock(now=FakeTime(tick=1.0)), 1.5)):
        found = pieces(10, 2)
        assert [next(found), next(found)] == [slice(0, 2), slice(2, 4)]
        with pytest.raises(CutShort):
            next(found)


def test_what_is_one_piece_is_done_even_if_time_is_up():
    with working_until(Deadline(Clock(), 0.0)):
        assert list(pieces(2, 2)) == [slice(0, 2)]


@pytest.mark.parametrize("listening", [True, False])
def test_a_ctrl_c_while_blas_is_limited_leaves_it_with_all_its_threads(listening, monkeypatch):
    """Also during a prediction, where no fit listens: ``with`` leaves no block that it did not come to enter."""
    from slackwater import workers as module

    before = blas_threads()
    limit = module._controller().limit

    def press(**named):
        limited = limit(**named)
        signal.raise_signal(signal.SIGINT)
        return limited

    monkeypatch.setattr(module._controller(), "limit", press)
    flag, workers = threading.Event(), Workers(2)
    flag.set()  # by a first Ctrl-C
    with INTERRUPTS.raising(flag) if listening else nullcontext(), pytest.raises(KeyboardInterrupt), workers:
        raise AssertionError("this was to be interrupted before")
    monkeypatch.undo()
    assert blas_threads() == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with workers:
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_a_ctrl_c_while_a_prediction_gives_threads_back_waits_for_that():
    before = blas_threads()
    workers = Workers(2)
    workers.__enter__()
    shutdown = workers._executor.shutdown

    def press():
        signal.raise_signal(signal.SIGINT)
        shutdown()

    workers._executor.shutdown = press
    with pytest.raises(KeyboardInterrupt):
        workers.__exit__(None, None, None)
    assert blas_threads() == before


def test_a_critical_block_of_another_thread_keeps_no_ctrl_c_from_the_main_one():
    flag, entered, leave, errors = threading.Event(), threading.Event(), threading.Event(), []

    def block():
        try:
            with INTERRUPTS.critical():
                entered.set()
                leave.wait(20)
        except KeyboardInterrupt as error:
            errors.append(error)

    other = threading.Thread(target=block)
    other.start()
    entered.wait(20)
    flag.set()
    with INTERRUPTS.raising(flag), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    leave.set()
    other.join()
    assert errors == []


def test_a_handler_of_the_users_own_is_called_after_a_critical_block():
    called = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: called.append(number))
    try:
        with INTERRUPTS.critical():
            signal.raise_signal(signal.SIGINT)
            assert called == []
        assert called == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, previous)
