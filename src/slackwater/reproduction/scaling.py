"""Table 1's dependence on ε, measured where u, its norm and its loss are known exactly.

**The problem.** Examples consist of a background z, of one of D groups e_j with labels σ_j = ±1, and of their own part:

    x = √A z + √B e_j + √R g,   A + B + R = 1,   so that   K(x, x') = A + B·[same group],   K(x, x) = 1,

g being new and orthogonal to everything for each example. A share L of the examples are outliers: nothing but a g of
their own, with a label by chance. For u = Σ_j σ_j e_j / √B:

    y <u, x> = 1 in every group,  0 for an outlier;   hence   ‖u‖² = D/B   and   L(u) = L   exactly.

So is the error of any w = Σ c_i Φ(x_i): a group is misclassified if σ_j (A Σ c + B Σ_{i in group} c_i) <= 0, an outlier
always (<w, x> = 0 counts as an error: arXiv:1204.0566, Section 3.5). No test set is needed. 0/1 loss <= L(u) + ε means
that groups of a total probability of at most ε are misclassified.

**Why it tests the claim.** For each ε one group is common and the others, together of probability 4ε, are rare and
equally so: to err on less than ε, three quarters of them must have been seen and learnt, which takes the
n ∝ (L + ε)/ε · ‖u‖²/ε examples of eq. (3.5) up to a constant, and ‖u‖² steps of a method that goes straight for
what is wrong. For the SBP both factors of its bound are then attained. n, ν = L̂(u)/‖u‖ (Lemma 2.1) and
λ = ε/‖u‖² (Appendix D.2; C = 1/(λn)) are chosen as in the analyses.

**Two regimes.** "proportional": L = ε, the column ε = Ω(L(u)) of the table, in which the bounds go as 1/ε, 1/ε² and
1/ε³. "fixed": L = 0.1 throughout, in which all three go as 1/ε⁴ once ε is far below L.

**Two ways of counting.** ``evaluations`` is what the meter charges: nothing for an iteration of Pegasos whose example
does not violate its margin, since responses are kept. ``analysed`` charges n for every iteration, as the bounds do.

**What it does not test.** Bounds are upper bounds: slopes below them agree with Table 1, and a rival whose slope is as
small as the SBP's shows that its bound is pessimistic here, not that it is wrong. Groups are orthogonal but for the
background and no label contradicts another; real data are less kind. The first time that the error is small enough
counts, not the last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slackwater.expansion import Expansion
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Ahead, DenseRows, Mask, as_indices
from slackwater.points import Floats
from slackwater.problem import Problem
from slackwater.reproduction.job import Advance, Job, Mode, Record
from slackwater.solvers.base import Solver
from slackwater.solvers.basins import OneBasin
from slackwater.solvers.pegasos import Pegasos
from slackwater.solvers.sbp import StochasticBatchPerceptron
from slackwater.solvers.smo import SMOSingles

METHODS = ("sbp", "pegasos", "smo")
BACKGROUND, GROUP = 0.4, 0.3  # A and B
RARE = 4.0  # the rare groups' probability, in units of ε
EXAMPLES = 0.5  # n in units of (L + ε)/ε · ‖u‖²/ε
FIXED_LOSS = 0.1
EPOCHS = 10  # then a method is said not to have got there
_FINENESS = 1.02  # ratio of the steps after which the error is looked at
_OUTLIER = -1


@dataclass(frozen=True)
class Sample:
    """A training set of the problem above."""

    groups: NDArray[np.intp]  # of each example, -1 for an outlier
    labels: NDArray[np.int8]
    signs: NDArray[np.int8]  # σ_j
    masses: NDArray[np.float64]  # probability of each group
    squared_norm: float  # ‖u‖²

    @property
    def n(self) -> int:
        return len(self.groups)

    def loss_of_u(self) -> float:
        """L̂(u): 1 for an outlier, 0 for the others."""
        return float(np.mean(self.groups == _OUTLIER))

    def excess_error(self, model: Expansion) -> float:
        """Exact expected 0/1 loss minus L(u): the probability of the groups that are misclassified."""
        groups = self.groups[model.support]
        inside = groups != _OUTLIER
        coefficients = model.coefficients[inside]
        sums = np.bincount(groups[inside], coefficients, minlength=len(self.signs))
        values = BACKGROUND * coefficients.sum() + GROUP * sums
        return float(self.masses[self.signs * values <= 0.0].sum())


class GroupRows:
    """Kernel rows of a sample, written down from its groups and charged as if they had been computed."""

    def __init__(self, groups: NDArray[np.intp]) -> None:
        self.groups = groups
        self.n = len(groups)
        self.dtype = np.dtype(np.float64)
        self.row_bytes = self.n * self.dtype.itemsize
        self.ledger = EvaluationLedger()
        self._background = np.where(groups == _OUTLIER, 0.0, BACKGROUND)

    @property
    def slots(self) -> int:
        """All rows are at hand."""
        return self.n

    def rows(self, indices: ArrayLike, columns: ArrayLike | None = None, ahead: Ahead | None = None) -> Floats:
        wanted = as_indices(indices, self.n)
        values = np.zeros((len(wanted), self.n))
        for row, index in zip(values, wanted, strict=True):
            if self.groups[index] != _OUTLIER:
                row += self._background + GROUP * (self.groups == self.groups[index])
            row[index] = 1.0
        if columns is not None:
            values = values[:, as_indices(columns, self.n, "columns")]
        self.ledger.charge(self.ledger.account, values.size)
        return values

    def fetch(self, indices: ArrayLike, ahead: Ahead | None = None, transient: Mask | None = None) -> DenseRows:
        values = self.rows(indices)
        return DenseRows(values, np.arange(len(values)))

    def fill_rows(self, indices: ArrayLike, out: Floats) -> None:
        np.copyto(out, self.rows(indices))

    def square(self, indices: NDArray[np.intp]) -> Floats:
        return self.rows(indices, indices)

    def diagonal(self) -> NDArray[np.float64]:
        return np.ones(self.n)  # by formula, as a Gaussian kernel's: not charged


def draw_sample(groups: int, epsilon: float, loss: float, rng: np.random.Generator) -> Sample:
    """Training examples for a target ε, as many as the analysis asks for."""
    squared_norm = groups / GROUP
    n = math.ceil(EXAMPLES * (loss + epsilon) / epsilon * squared_norm / epsilon)
    rare = np.full(groups - 1, RARE * epsilon / (groups - 1))
    masses = np.append(rare, 1.0 - RARE * epsilon - loss)
    signs = rng.choice(np.array([-1, 1], dtype=np.int8), groups)
    drawn = rng.choice(np.append(np.arange(groups), _OUTLIER), size=n, p=np.append(masses, loss))
    by_chance = rng.choice(np.array([-1, 1], dtype=np.int8), n)
    return Sample(drawn, np.where(drawn == _OUTLIER, by_chance, signs[drawn]), signs, masses, squared_norm)


def make_solver(method: str, sample: Sample, epsilon: float) -> Solver:
    regularisation = epsilon / sample.squared_norm  # λ
    solvers: dict[str, Solver] = {
        "sbp": StochasticBatchPerceptron(sample.loss_of_u() / math.sqrt(sample.squared_norm), OneBasin()),
        "pegasos": Pegasos(average="last", regularisation=regularisation),
        "smo": SMOSingles(1.0 / (regularisation * sample.n)),
    }
    return solvers[method]


def iterations_to_reach(
    method: str, sample: Sample, epsilon: float, rng: np.random.Generator
) -> tuple[int, int] | None:
    """Iterations and evaluations charged until the error is at most L(u) + ε; None if that does not happen."""
    solver, rows = make_solver(method, sample, epsilon), GroupRows(sample.groups)
    problem = Problem(rows, sample.labels, None, rng.permutation(sample.n))
    state = solver.start(problem, rng)
    look_at = 1
    while state.step < EPOCHS * sample.n:
        indices = solver.draw(problem, state)
        if method == "smo" and not len(indices):
            return None  # at its optimum
        solver.apply(problem, state, indices, rows.fetch(indices))
        if state.step >= look_at:
            look_at = math.ceil(_FINENESS * state.step + 0.5)
            if sample.excess_error(solver.expansion(problem, state)) <= epsilon:
                return state.step, rows.ledger.train
    return None


def _measured(method: str, seed: int, groups: int, targets: list[float], losses: list[float]) -> Record:
    columns: dict[str, list[int | None]] = {"examples": [], "iterations": [], "evaluations": [], "analysed": []}
    for epsilon, loss in zip(targets, losses, strict=True):
        rng = np.random.default_rng([seed, round(1e6 * epsilon)])  # every method gets the same sample
        sample = draw_sample(groups, epsilon, loss, rng)
        found = iterations_to_reach(method, sample, epsilon, rng)
        iterations, evaluations = (None, None) if found is None else found
        columns["examples"].append(sample.n)
        columns["iterations"].append(iterations)
        columns["evaluations"].append(evaluations)
        columns["analysed"].append(None if iterations is None else iterations * sample.n)
    return {"epsilon": targets, "loss": losses, **columns}


def _run(settings: Record, advance: Advance) -> Record:
    method, seed, groups = settings["method"], settings["seed"], settings["groups"]
    targets, fixed = settings["epsilon"], settings["fixed_epsilon"]
    proportional = _measured(method, seed, groups, targets, targets)
    advance(0.5)
    return {
        "method": method,
        "seed": seed,
        "n": max(proportional["examples"]),
        "norm": math.sqrt(groups / GROUP),
        **proportional,
        "fixed": _measured(method, seed, groups, fixed, [FIXED_LOSS] * len(fixed)),
    }


def jobs(mode: Mode) -> list[Job]:
    """Evaluations against ε: every method on the samples of every seed."""
    seeds, smallest, fixed_smallest, points, groups = (
        (range(10), 0.002, 0.01, 8, 101) if mode == "full" else (range(2), 0.01, 0.03, 4, 41)
    )
    shared: Record = {
        "groups": groups,
        "epsilon": [round(e, 6) for e in np.geomspace(0.1, smallest, points).tolist()],
        "fixed_epsilon": [round(e, 6) for e in np.geomspace(0.1, fixed_smallest, points).tolist()],
        "background": BACKGROUND,
        "group": GROUP,
        "rare": RARE,
        "examples": EXAMPLES,
        "fixed_loss": FIXED_LOSS,
        "epochs": EPOCHS,
    }
    made = []
    for method in METHODS:
        for seed in seeds:
            settings = {"method": method, "seed": seed, **shared}
            made.append(
                Job(f"scaling/{method}/{seed}", settings, partial(_run, settings), 8.0 if mode == "full" else 1.0)
            )
    return made
