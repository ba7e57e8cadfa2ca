"""Table 1: upper bounds on the kernel evaluations that learning takes, as text and as numbers from ``theory``."""

from __future__ import annotations

import math

from sbp_paper.experiments.job import Advance, Job, Mode, Record
from sbp_paper.theory import learning_runtime

# As printed; q = (L(u) + ε)/ε. The names of ``theory`` tell which of its functions says the same.
ROWS = (
    ("SBP", "sbp", "((L(u) + ε)/ε)³ · ‖u‖⁴/ε", "‖u‖⁴/ε"),
    ("Dual decomposition (SMO)", "dual_decomposition", "((L(u) + ε)/ε)² · ‖u‖⁴/ε²", "‖u‖⁴/ε²"),
    ("SGD on the loss (Pegasos)", "sgd", "((L(u) + ε)/ε) · ‖u‖⁴/ε³", "‖u‖⁴/ε³"),
)
TARGETS = (0.2, 0.1, 0.05, 0.02, 0.01)  # values of L(u) + ε
_NORM, _FAR = 10.0, 1e-6


def growth(method: str, loss: float, epsilon: float) -> int:
    """p where the bound grows as 1/ε^p when ε is divided by ten."""
    fine, coarse = (learning_runtime(method, loss, _NORM, e).kernel_evaluations for e in (epsilon / 10.0, epsilon))
    return round(math.log10(fine / coarse))


def advantage(target: float) -> Record:
    """How many times the others' bounds exceed the SBP's, orders as they are.

    That depends on L(u) + ε alone: 1/(L(u) + ε) for dual decomposition, its square for descent on the loss. Neither
    ‖u‖ nor how L(u) + ε is divided matters, so any split of the target will do.
    """
    costs = {
        method: learning_runtime(method, target / 2.0, _NORM, target / 2.0).kernel_evaluations
        for _, method, _, _ in ROWS
    }
    return {
        "target": target,
        "dual_decomposition": costs["dual_decomposition"] / costs["sbp"],
        "sgd": costs["sgd"] / costs["sbp"],
    }


def _run(advance: Advance) -> Record:
    return {
        "rows": [
            {
                "method": name,
                "overall": overall,
                "small_loss": small_loss,
                "exponent_small_loss": growth(method, 0.0, 1.0),
                "exponent_far_below_loss": growth(method, 1.0, _FAR),
            }
            for name, method, overall, small_loss in ROWS
        ],
        "advantage": [advantage(target) for target in TARGETS],
    }


def jobs(mode: Mode) -> list[Job]:
    """One record, made of formulas."""
    settings: Record = {"rows": [list(row) for row in ROWS], "targets": list(TARGETS)}
    return [Job("table1/bounds", settings, _run, 0.1)]
