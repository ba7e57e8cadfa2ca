"""State on disk."""

from __future__ import annotations

import dataclasses
import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from checkpoint_files import read_checkpoint, write_checkpoint
from problems import precomputed_problem
from slackwater.checkpoint import Saved, open_checkpoint, require_writable, signed
from slackwater.errors import CheckpointError
from slackwater.solvers.basins import TwoBasins
from slackwater.solvers.coupling import Free
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.solvers.sbp import StochasticBatchPerceptron


@pytest.fixture
def solver():
    return StochasticBatchPerceptron(0.01, TwoBasins(), "suffix")


@pytest.fixture
def problem():
    return precomputed_problem()


def advance(solver, problem, state, steps):
    for _ in range(steps):
        indices = solver.draw(problem, state)
        solver.apply(problem, state, indices, problem.rows.fetch(indices))


def fresh(solver, problem):
    return solver.start(problem, np.random.default_rng(7))


def test_a_state_read_back_continues_as_if_nothing_had_happened(tmp_path, solver, problem):
    state = fresh(solver, problem)
    advance(solver, problem, state, 100)
    write_checkpoint(tmp_path / "c", "mine", [state], Saved(5, 1.5, np.zeros((2, 3))))
    (restored,), saved = read_checkpoint(tmp_path / "c", "mine", [fresh(solver, problem)])
    assert (saved.evaluations, saved.seconds, saved.history.shape) == (5, 1.5, (2, 3))
    advance(solver, problem, state, 200)
    advance(solver, problem, restored, 200)
    np.testing.assert_array_equal(state.coefficients.total(), restored.coefficients.total())
    np.testing.assert_array_equal(state.responses, restored.responses)
    assert dataclasses.asdict(state).keys() == dataclasses.asdict(restored).keys()


def test_a_checkpoint_of_another_problem_is_refused(tmp_path, solver, problem):
    write_checkpoint(tmp_path / "c", "mine", [fresh(solver, problem)], Saved(0, 0.0, np.zeros((0, 3))))
    with pytest.raises(CheckpointError, match="other data or other parameters"):
        read_checkpoint(tmp_path / "c", "yours", [fresh(solver, problem)])


@pytest.mark.parametrize("keep", [0, 10, 500, 2000])
def test_a_truncated_checkpoint_is_refused_and_named(tmp_path, solver, problem, keep):
    path = tmp_path / "c"
    write_checkpoint(path, "mine", [fresh(solver, problem)], Saved(0, 0.0, np.zeros((0, 3))))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match=r"Delete the file"):
        read_checkpoint(path, "mine", [fresh(solver, problem)])


@pytest.mark.parametrize("seed", range(60))
def test_any_damage_is_refused_before_anything_is_parsed(tmp_path, solver, problem, seed):
    path = tmp_path / "c"
    state = fresh(solver, problem)
    advance(solver, problem, state, 20)
    write_checkpoint(path, "mine", [state], Saved(0, 0.0, np.zeros((0, 3))))
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="Delete the file"):
        read_checkpoint(path, "mine", [fresh(solver, problem)])


def sign(path, header, body=b""):
    path.write_bytes(signed(header.encode(), body))


def refused(path, solver, problem, match="Delete the file"):
    """Refused, and in little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=match):
            read_checkpoint(path, "mine", [fresh(solver, problem)])
        return tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["|O", "|V8", "<U9", "<M8[s]", "S4"])
def test_a_type_other_than_numbers_is_refused(tmp_path, solver, problem, kind):
    sign(tmp_path / "c", json.dumps({"fingerprint": "mine", "arrays": [["history", kind, [1]]]}), bytes(8))
    assert refused(tmp_path / "c", solver, problem)


@pytest.mark.parametrize("shape", [[2**50], [2**40, 2**40], [-1], [1.5], [1, 1, 1], [2**62, 4]])
def test_absurd_sizes_with_a_valid_digest_take_no_memory(tmp_path, solver, problem, shape):
    sign(tmp_path / "c", json.dumps({"fingerprint": "mine", "arrays": [["history", "<f8", shape]]}), bytes(16))
    assert refused(tmp_path / "c", solver, problem)


@pytest.mark.parametrize("length", [b"999999999999", b"000000000000", b"-00000000001", b"00000000000x"])
def test_a_header_of_absurd_length_takes_no_memory(tmp_path, solver, problem, length):
    good = signed(b"{}", bytes(64))
    first, rest = good.split(b"\n", 1)
    (tmp_path / "c").write_bytes(first[:-12] + length + b"\n" + rest)
    assert refused(tmp_path / "c", solver, problem)


def test_a_deeply_nested_header_is_refused(tmp_path, solver, problem):
    deep = "[" * 100_000 + "]" * 100_000
    sign(tmp_path / "c", '{"fingerprint": "mine", "arrays": [], "states": ' + deep + "}")
    assert refused(tmp_path / "c", solver, problem)


def test_a_checkpoint_of_the_former_format_is_named(tmp_path, solver, problem):
    (tmp_path / "c").write_bytes(b"slackwater checkpoint 1 " + bytes(200))
    assert refused(tmp_path / "c", solver, problem, "no checkpoint of this version.*Delete the file")


def test_a_state_whose_arrays_are_shorter_than_the_problem_is_refused(tmp_path, problem):
    solver = DualBlocks(1.0, Free())
    state = fresh(solver, problem)
    state.responses = state.responses[:-1].copy()
    write_checkpoint(tmp_path / "c", "mine", [state], Saved(0, 0.0, np.zeros((0, 3))))
    stored = open_checkpoint(tmp_path / "c", "mine")
    with pytest.raises(CheckpointError, match="59 entries in place of 60"):
        stored.pour(stored.header["states"][0], fresh(solver, problem), problem.n)


def test_a_header_of_hostile_values_is_refused(tmp_path, solver, problem):
    start = '{"fingerprint": "mine", "evaluations": 0, "seconds": 0, "states": '
    headers = ["[]", "null", "{", '{"fingerprint": "mine"}', start + "[]}", start + '[{"fields": {"no": 1}}]}']
    headers.append(start + '[{"fields": {"responses": {"array": "absent"}}}]}')
    for text in headers:
        sign(tmp_path / "c", text)
        with pytest.raises(CheckpointError):
            read_checkpoint(tmp_path / "c", "mine", [fresh(solver, problem)])


def test_a_write_that_fails_leaves_the_former_checkpoint(tmp_path, solver, problem, monkeypatch):
    path = tmp_path / "c"
    write_checkpoint(path, "mine", [fresh(solver, problem)], Saved(1, 0.0, np.zeros((0, 3))))
    before = path.read_bytes()

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_checkpoint(path, "mine", [fresh(solver, problem)], Saved(2, 0.0, np.zeros((0, 3))))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c"]


@pytest.mark.parametrize("path", ["/proc/nowhere/c", "x" * 300, "nul\0byte", ".", "/"])
def test_a_place_that_cannot_be_written_to_is_refused_at_once(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="cannot be written"):
        require_writable(Path(path))
