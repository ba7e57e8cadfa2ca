"""Compiled solution of many small binary problems, one for each pair of classes, out of shared kernel values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater._jit import compiled, compiled_reordering
from slackwater.solvers._dual_loops import solve_pairs

# Columns of what is found about a pair.
BIAS, SQUARED_NORM, LOSS, DUAL_SUM, VIOLATION, STEPS, SUPPORT = range(7)
FOUND = 7
_TILE = 64  # values: a square of them stays in the first-level cache while it is mirrored
_ATTEMPTS = 20  # solutions of a pair, each from responses computed anew
_INNER_SHARE = 0.9  # of the violation allowed: responses are off by rounding while a pair is solved
_REFINEMENT = 0.25  # of the violation allowed, where it does not lead to the gap that is asked for


@compiled
def solve_class_pairs(
    strip: NDArray[np.floating],
    first_row: int,
    diagonals: NDArray[np.floating],
    diagonal_starts: NDArray[np.intp],
    starts: NDArray[np.intp],
    pairs: NDArray[np.intp],
    upper: NDArray[np.float64],
    violation: float,
    gap: float,
    finest: float,
    most_steps: int,
    signed: NDArray[np.float64],
    found: NDArray[np.float64],
    gram: NDArray[np.floating],
) -> None:
    """Solve the dual of each pair of classes (a, b), a < b; a is the positive one.

    Examples are sorted by class: class k has numbers ``starts[k]`` to before ``starts[k + 1]``. Row i of ``strip`` has
    the kernel values of example ``first_row + i`` with those from ``first_row`` on; ``diagonals`` those of each class
    b with itself, one square after the other. Dual variables times labels are written to ``signed`` as LIBSVM has
    them: row b - 1 for the examples of a, row a for those of b.

    A pair is solved until its optimality conditions are violated by no more than ``violation`` and its relative gap is
    no more than ``gap``, unless a violation of ``finest`` does not lead to it, or until neither shrinks. ``gram`` is
    memory for the matrix of the largest pair.
    """
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        n_a, n_b = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
        m = n_a + n_b
        _gather(strip, first_row, diagonals, diagonal_starts[b], starts[a], n_a, starts[b], n_b, gram)
        labels, most = np.empty(m, np.int8), np.empty(m)
        for i in range(m):  # an assignment of slices would have to say what is wrong with them: a second to compile
            first = i < n_a
            labels[i] = 1 if first else -1
            most[i] = upper[starts[a] + i] if first else upper[starts[b] + i - n_a]
        alpha = np.zeros(m)
        _solve(gram, labels, most, violation, gap, finest, most_steps, alpha, found[p])
        for i in range(n_a):
            signed[b - 1, starts[a] + i] = alpha[i]
        for i in range(n_b):
            signed[a, starts[b] + i] = -alpha[n_a + i]


@compiled
def _gather(
    strip: NDArray[np.floating],
    first_row: int,
    diagonals: NDArray[np.floating],
    diagonal: int,
    start_a: int,
    n_a: int,
    start_b: int,
    n_b: int,
    gram: NDArray[np.floating],
) -> None:
    """The kernel matrix of two classes."""
    for i in range(n_a):
        row, target = strip[start_a - first_row + i], gram[i]
        for j in range(n_a):
            target[j] = row[start_a - first_row + j]
        for j in range(n_b):
            target[n_a + j] = row[start_b - first_row + j]
    for i in range(n_b):
        target = gram[n_a + i]
        for j in range(n_b):
            target[n_a + j] = diagonals[diagonal + i * n_b + j]
    for top in range(0, n_a, _TILE):
        for left in range(0, n_b, _TILE):
            for i in range(top, min(top + _TILE, n_a)):
                for j in range(left, min(left + _TILE, n_b)):
                    gram[n_a + j, i] = gram[i, n_a + j]


@compiled
def _solve(
    gram: NDArray[np.floating],
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    violation: float,
    gap: float,
    finest: float,
    most_steps: int,
    alpha: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """One binary problem with a free bias, from zero."""
    m, steps, aim = alpha.size, 0, violation
    shortfall = np.ones(m)
    for _ in range(_ATTEMPTS):
        made = solve_pairs(gram, labels, upper, alpha, shortfall, _INNER_SHARE * aim, most_steps - steps)
        steps += made
        _shortfalls(gram, labels, alpha, shortfall)
        _account(labels, upper, alpha, shortfall, found)
        found[STEPS] = steps
        primal = 0.5 * found[SQUARED_NORM] + found[LOSS]
        dual = found[DUAL_SUM] - 0.5 * found[SQUARED_NORM]
        closed = primal - dual <= gap * primal or found[VIOLATION] <= finest
        reached = found[VIOLATION] <= aim
        if (reached and closed) or (made == 0 and not reached) or steps >= most_steps:
            break
        if reached:
            aim *= _REFINEMENT


@compiled_reordering  # sums in double precision of at most some thousand terms
def _shortfalls(
    gram: NDArray[np.floating], labels: NDArray[np.int8], alpha: NDArray[np.float64], shortfall: NDArray[np.float64]
) -> None:
    """1 - y_i <w, Φ(x_i)>, computed anew."""
    m = alpha.size
    values = np.zeros(m)
    for j in range(m):
        if alpha[j] != 0.0:
            row, amount = gram[j], alpha[j] * labels[j]
            for i in range(m):
                values[i] += amount * row[i]
    for i in range(m):
        shortfall[i] = 1.0 - labels[i] * values[i]


@compiled
def _account(
    labels: NDArray[np.int8],
    upper: NDArray[np.float64],
    alpha: NDArray[np.float64],
    shortfall: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """The bias by the optimality conditions, the parts of primal and dual objective, the violation."""
    top, bottom, total, free, support, dual, squared = -np.inf, np.inf, 0.0, 0, 0, 0.0, 0.0
    for i in range(alpha.size):
        bias = labels[i] * shortfall[i]
        can_grow, can_shrink = alpha[i] < upper[i], alpha[i] > 0.0
        if can_grow if labels[i] > 0 else can_shrink:
            top = max(top, bias)
        if can_shrink if labels[i] > 0 else can_grow:
            bottom = min(bottom, bias)
        if can_grow and can_shrink:
            total += bias
            free += 1
        if can_shrink:
            support += 1
            dual += alpha[i]
            squared += alpha[i] * (1.0 - shortfall[i])
    bias = total / free if free > 0 else 0.5 * (top + bottom)
    loss = 0.0
    for i in range(alpha.size):
        loss += upper[i] * max(shortfall[i] - labels[i] * bias, 0.0)
    found[BIAS], found[SQUARED_NORM], found[LOSS], found[DUAL_SUM] = bias, max(squared, 0.0), loss, dual
    found[VIOLATION], found[SUPPORT] = max(top - bottom, 0.0), support
