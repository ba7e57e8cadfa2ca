"""How large the blocks of the C-form are, and that growing ones change nothing but their number."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from problems import advance, precomputed_problem
from slackwater import SVC
from slackwater.errors import ConvergenceWarning
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.precomputed import PrecomputedRows
from slackwater.problem import Problem
from slackwater.solvers import dual_blocks
from slackwater.solvers.coupling import Balanced
from slackwater.solvers.dual_blocks import DualBlocks


def block_size(blocks, *, problems=1, slots=10**6, row_bytes=4000, remaining=None):
    rows = SimpleNamespace(slots=slots, row_bytes=row_bytes, ledger=SimpleNamespace(remaining=remaining))
    return DualBlocks(1.0, Balanced(), problems)._block_size(SimpleNamespace(rows=rows, n=1000), blocks)


def test_blocks_double_twice():
    sizes = [block_size(blocks) for blocks in (0, 31, 32, 95, 96, 10**6)]
    assert sizes == [512, 512, 1024, 1024, 2048, 2048]
    assert [block_size(blocks, problems=3) for blocks in (0, 32, 96)] == [512, 1024, 2048]


@pytest.mark.parametrize("problems", [1, 3, 26])
def test_larger_blocks_leave_half_of_the_rows_that_are_kept(problems):
    first = block_size(0, problems=problems)
    assert block_size(10**6, problems=problems, slots=0) == first
    assert block_size(10**6, problems=problems, slots=2 * problems * 700) == 700


@pytest.mark.parametrize("problems", [1, 3, 26])
def test_larger_blocks_keep_to_their_memory(problems):
    for blocks in (0, 10**6):
        assert block_size(blocks, problems=problems, row_bytes=2**18) * problems * 2**18 <= dual_blocks._BLOCK_BYTES
    assert block_size(0, row_bytes=2**26) == 16


def test_no_block_costs_more_than_is_left():
    """Neither the values of the block with itself nor all of its rows."""
    assert block_size(10**6, remaining=300 * 1300) == 300
    assert block_size(10**6, remaining=300 * 1300 - 1) == 299
    assert block_size(10**6, remaining=3 * 300 * 1300, problems=3) == 300
    assert block_size(0, remaining=0) == 2


def test_another_c_begins_with_small_blocks():
    problem, solver = precomputed_problem(), DualBlocks(1.0, Balanced())
    state = solver.start(problem, np.random.default_rng(0))
    advance(solver, problem, 3, state)
    assert state.blocks == 3
    assert DualBlocks(2.0, Balanced()).continued(state).blocks == 0
    assert state.step == 3


def test_growing_blocks_lead_to_the_same_optimum_in_fewer_steps(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3200, 5))
    y = np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] + rng.standard_normal(3200) > 0.0, 1, -1)

    def fitted(doublings):
        monkeypatch.setattr(dual_blocks, "BLOCK", 64)
        monkeypatch.setattr(dual_blocks, "_DOUBLED_AT", 4)
        monkeypatch.setattr(dual_blocks, "_DOUBLINGS", doublings)
        return SVC(C=100.0, gamma=0.3, tol=1e-4, random_state=0).fit(X, y)  # by blocks of rows

    growing, small = fitted(2), fitted(0)
    assert growing.n_iter_ < 0.7 * small.n_iter_
    np.testing.assert_allclose(growing.decision_function(X), small.decision_function(X), atol=0.02)


def test_growing_blocks_do_not_hang_on_the_order_of_the_rows(monkeypatch):
    """Of more new examples than half a block holds, the same ones are kept, however they are numbered."""
    monkeypatch.setattr(dual_blocks, "BLOCK", 16)
    monkeypatch.setattr(dual_blocks, "_DOUBLED_AT", 2)
    problem = precomputed_problem(200)
    numbers = np.random.default_rng(1).permutation(200)
    place = np.argsort(numbers)
    rows = PrecomputedRows(problem.rows.matrix[np.ix_(numbers, numbers)], EvaluationLedger())
    shuffled = Problem(rows, problem.labels[numbers], None, place)
    solver, blocks = DualBlocks(1.0, Balanced()), []
    chosen = DualBlocks._block
    monkeypatch.setattr(DualBlocks, "_block", lambda *args: blocks.append(chosen(*args)) or blocks[-1])
    _, draws = advance(solver, problem, 8)
    assert len(blocks[0]) == 16
    assert max(len(each) for each in blocks) > 32
    for each, block in zip(draws, blocks, strict=True):
        assert np.isin(each, block).all()
    _, others = advance(solver, shuffled, 8)
    for each, other in zip(draws, others, strict=True):
        np.testing.assert_array_equal(np.sort(each), np.sort(numbers[other]))


def test_rows_are_fetched_of_those_that_move():
    problem, solver = precomputed_problem(200), DualBlocks(1.0, Balanced())
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(3):
        before, counted = state.alpha.copy(), problem.rows.ledger.train
        drawn = solver.draw(problem, state)
        in_block = problem.rows.ledger.train - counted
        solver.apply(problem, state, drawn, problem.rows.fetch(drawn))
        np.testing.assert_array_equal(np.sort(drawn), np.flatnonzero(state.alpha != before))
        assert problem.rows.ledger.train - counted == in_block + 200 * len(drawn)
    expected = problem.labels * (problem.rows.matrix @ (problem.labels * state.alpha))
    np.testing.assert_allclose(state.responses, expected, atol=1e-9)


def test_examples_between_the_bounds_join_a_block_if_there_is_room_for_their_rows(monkeypatch):
    problem, solver = precomputed_problem(300), DualBlocks(1.0, Balanced())
    state, _ = advance(solver, problem, 2)
    monkeypatch.setattr(dual_blocks, "BLOCK", 16)
    state.alpha[:] = np.repeat([0.0, 0.5, 1.0], 100)
    state.recent = np.arange(90, 120)
    block = solver._block(problem, state)
    assert len(np.unique(block)) == len(block) == 24
    between = block[(block >= 100) & (block < 200)]
    assert np.isin(np.arange(100, 120), block).sum() < 20  # not all that were kept
    assert len(np.setdiff1d(between, np.arange(90, 98))) >= 8
    assert set(between) != set(solver._free(problem, state, np.arange(0), 8))  # others at another step
    assert len(solver._free(problem, state, np.arange(100, 196), 8)) == 4
    assert len(DualBlocks(1.0, Balanced(), problems=3)._free(problem, state, np.arange(0), 8)) == 0  # no room
    with monkeypatch.context() as patch:
        patch.setattr(dual_blocks, "MOST_FREE", 99)
        assert len(solver._free(problem, state, np.arange(0), 8)) == 0
    problem.rows.ledger.limit = 10**9
    assert len(solver._free(problem, state, np.arange(0), 8)) == 0


def test_a_callable_that_cannot_bear_it_is_not_called_by_two_threads_at_once():
    rng, inside, most = np.random.default_rng(0), [0], [0]

    def kernel(A, B):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        values = np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))
        inside[0] -= 1
        return values

    X = rng.uniform(0, 4, (4200, 2))
    y = np.floor(X[:, 0]).astype(int)
    SVC(kernel=kernel, n_jobs=2, max_iter=6, tol=0.1, multi_class="ovr").fit(X, y)
    assert most[0] == 1
    SVC(kernel=kernel, n_jobs=2).fit(X, y)
    assert most[0] == 1


@pytest.mark.parametrize("scale", [1e-3, 1.0, 3e3])
def test_single_precision_is_left_where_it_is_too_coarse(scale):
    """A linear kernel of large values, or a small C: the gap is reached all the same."""
    rng = np.random.default_rng(0)
    X = (scale * (1.0 + 0.1 * rng.standard_normal((300, 3)))).astype(np.float32)
    y = X @ [1.0, -1.0, 0.5] + 0.02 * scale * rng.standard_normal(300) > 0.5 * scale
    model = SVC(C=1.0 / scale**2, kernel="linear", tol=1e-5, random_state=0).fit(X, y)
    assert model.stop_reason_ == "tol"
    assert model.gap_ <= 1e-5


def test_a_small_c_in_single_precision_comes_to_a_small_gap():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)).astype(np.float32)
    model = SVC(C=0.01, gamma=0.5, tol=1e-6, random_state=0).fit(X, X[:, 0] + 0.3 * rng.standard_normal(400) > 0)
    assert model.stop_reason_ == "tol"


def test_a_budget_for_two_rows_at_a_time_is_not_spent_on_the_same_pair():
    """With room for one new example in a block of two, half of them must be those that fall."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + rng.standard_normal(300) > 0
    with pytest.warns(ConvergenceWarning, match="max_kernel_evals"):
        model = SVC(gamma=0.5, tol=1e-3, max_kernel_evals=20 * 300, random_state=0).fit(X, y)
    assert 0 < model.n_iter_ < 60
    assert len(model.support_) > 8  # of one pair there would be two
