"""Alg. 1 of arXiv:1204.0566 in plain NumPy, eager in everything: the twin of the lazy, compiled solver."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Run(NamedTuple):
    coefficients: np.ndarray  # (T, n): alpha after each step
    responses: np.ndarray  # (T, n): c after each step


def naive_sbp(gram: np.ndarray, labels: np.ndarray, draws: list[np.ndarray]) -> Run:
    """Take the given draws (one example a step, or one of each class) and return every iterate."""
    eta0 = 1.0 / np.sqrt(gram.diagonal().max())
    alpha = np.zeros(len(labels))
    alphas, responses = [], []
    signed = labels[:, None] * gram * labels[None, :]
    for t, drawn in enumerate(draws, start=1):
        eta = eta0 / np.sqrt(t) / len(drawn)
        for index in drawn:
            alpha[index] += eta
        norm = np.sqrt(alpha @ signed @ alpha)
        if norm > 1.0:
            alpha = alpha / norm
        alphas.append(alpha.copy())
        responses.append(signed @ alpha)
    return Run(np.array(alphas), np.array(responses))
