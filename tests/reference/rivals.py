"""The paper's rival methods in plain NumPy, eager in everything: twins of the lazy, compiled solvers.

Each takes the draws that the solver made, so that the iterates can be compared one by one.
"""

from __future__ import annotations

import numpy as np


def signed_gram(gram: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return labels[:, None] * gram * labels[None, :]


def naive_descent(gram, labels, draws, pace, radius=np.inf):
    """Subgradient descent on the hinge loss: coefficients after each step; ``pace(t)`` is (decay, size)."""
    signed = signed_gram(gram, labels)
    alpha, history = np.zeros(len(labels)), []
    for t, index in enumerate(draws, start=1):
        decay, size = pace(t)
        violated = (signed @ alpha)[index] < 1.0
        alpha = decay * alpha
        alpha[index] += size * violated
        norm = np.sqrt(alpha @ signed @ alpha)
        if norm > radius:
            alpha = alpha * radius / norm
        history.append(alpha.copy())
    return np.array(history)


def naive_sdca(gram, labels, draws, upper):
    """Each coefficient drawn is set to its best value; returns the last point."""
    signed = signed_gram(gram, labels)
    alpha = np.zeros(len(labels))
    for index in draws:
        best = alpha[index] + (1.0 - signed[index] @ alpha) / signed[index, index]
        alpha[index] = np.clip(best, 0.0, upper[index])
    return alpha


def naive_pairs(gram, labels, upper, steps):
    """SMO by looking at every pair: the first by violation, the second by gain (Fan, Chen, Lin 2005)."""
    signed = signed_gram(gram, labels)
    alpha, chosen = np.zeros(len(labels)), []
    for _ in range(steps):
        values = labels * (1.0 - signed @ alpha)
        rise = np.where(labels > 0, alpha < upper, alpha > 0.0)
        fall = np.where(labels > 0, alpha > 0.0, alpha < upper)
        i = int(np.argmax(np.where(rise, values, -np.inf)))
        curvature = gram[i, i] + gram.diagonal() - 2.0 * gram[i]
        gains = np.where(fall & (values < values[i]), (values[i] - values) ** 2 / np.maximum(curvature, 1e-12), -1.0)
        j = int(np.argmax(gains))
        room_i = upper[i] - alpha[i] if labels[i] > 0 else alpha[i]
        room_j = alpha[j] if labels[j] > 0 else upper[j] - alpha[j]
        move = min((values[i] - values[j]) / curvature[j], room_i, room_j)
        alpha[i] += labels[i] * move
        alpha[j] -= labels[j] * move
        chosen.append((i, j))
    return alpha, chosen


def naive_singles(gram, labels, upper, steps):
    """SMO without bias by trying every coefficient: the one whose best value raises the dual most."""
    signed = signed_gram(gram, labels)
    alpha, chosen = np.zeros(len(labels)), []

    def dual(a):
        return a.sum() - 0.5 * a @ signed @ a

    for _ in range(steps):
        candidates = []
        for i in range(len(labels)):
            moved = alpha.copy()
            moved[i] = np.clip(alpha[i] + (1.0 - signed[i] @ alpha) / signed[i, i], 0.0, upper[i])
            candidates.append(moved)
        i = int(np.argmax([dual(a) for a in candidates]))
        alpha = candidates[i]
        chosen.append(i)
    return alpha, chosen


def naive_perceptron(gram, labels, sequence, weights=None):
    """Signed coefficients before each step and after the last one, and the mistakes."""
    omega = np.ones(len(labels)) if weights is None else weights
    beta, history, mistakes = np.zeros(len(labels)), [], []
    for index in sequence:
        history.append(beta.copy())
        if labels[index] * (gram[index] @ beta) <= 0.0:
            beta[index] += labels[index] * omega[index]
            mistakes.append(index)
    return np.array([*history, beta]), mistakes
