"""SIMBA as an estimator: linear, by features."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from slackwater.estimators.baselines.common import TOL, TRAINING_RULES, Baseline
from slackwater.estimators.parameters import Rule
from slackwater.estimators.sbp import NU
from slackwater.estimators.validation import GivenHoldout, Targets, with_holdout
from slackwater.fitting.training_set import TrainingSet, feature_training_set
from slackwater.gram.table import FeatureTable
from slackwater.kernels.base import Kernel, as_vectors
from slackwater.kernels.dot import Linear
from slackwater.points import as_points
from slackwater.solvers.base import Solver
from slackwater.solvers.simba import SIMBA
from slackwater.workers import Workers


@dataclass(eq=False, repr=False)
class SIMBAClassifier(Baseline):
    r"""Linear SVM by SIMBA, in the paper's slack-constrained form.

    .. math::
        \max_{\|w\| \le 1,\ \xi \succeq 0}\ \min_i\ (y_i \langle w, x_i \rangle + \xi_i)
        \quad\text{subject to}\quad \sum_i \omega_i \xi_i \le \nu \sum_i \omega_i

    A step moves w towards an example drawn from a distribution p, gives the slack to the examples that p likes most,
    and moves p by what one feature, drawn at random, tells about all responses. It needs features: there is no kernel
    to choose.

    **A step costs** the values of one example and one feature of all examples, d + n. ``n_kernel_evals_`` counts inner
    products of d values: 1 + n/d a step, the latter rounded up, and n once for the largest norm.

    Parameters
    ----------
    nu : float, default=0.01
        Slack allowed on average per unit of weight; 0 is the hard margin.
    tol : float, default=0.05
        Stop at this relative duality gap, ``gap_``.
    max_iter : int, default=10000
        Stop after this many steps (of each binary problem); -1 sets no limit.
    class_weight, max_time, max_kernel_evals, early_stopping, validation_fraction, n_iter_no_change
        As in ``SBPClassifier``; ``max_kernel_evals`` is in inner products.
    warm_start, checkpoint, n_jobs, verbose, random_state, callback
        As in ``SBPClassifier``; ``max_kernel_evals`` is in inner products.

    Attributes
    ----------
    margin_, gap_, slack_nu_, support_, support_vectors_, dual_coef_, intercept_ (0), n_support_
        As in ``SBPClassifier``.
    classes_, n_features_in_, coef_, n_iter_, n_kernel_evals_, stop_reason_, history_
        As in ``SBPClassifier``.

    References
    ----------
    E. Hazan, T. Koren, N. Srebro: Beating SGD: Learning SVMs in Sublinear Time. NIPS 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from slackwater.baselines import SIMBAClassifier
    >>> X, y = make_blobs(200, centers=[[-2, -2], [2, 2]], random_state=0)
    >>> model = SIMBAClassifier(nu=0.1, tol=0.2, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    nu: float = 0.01
    _: KW_ONLY
    tol: float = 0.05
    max_iter: int = 10_000

    kernel: ClassVar[str] = "linear"
    _rules: ClassVar[Mapping[str, Rule]] = {"nu": NU, **TOL, **TRAINING_RULES}

    def _solver(self, n_classes: int) -> SIMBA:
        return SIMBA(float(self.nu))

    def _make_kernel(self, X: Any) -> Kernel:
        return Linear()

    def _training_set(
        self,
        X: Any,
        targets: Targets,
        kernel: Kernel | None,
        seed: int,
        workers: Workers,
        given: GivenHoldout | None = None,
    ) -> TrainingSet:
        rows, rng = with_holdout(X, targets, given), np.random.default_rng(seed)
        points = as_vectors(as_points(rows.X), self.kernel)
        held_out = self.validation_fraction if self.early_stopping else 0.0
        training_set = feature_training_set(
            points, Linear(), *rows[1:3], held_out, 0, 0, workers, rng, None, rows.held_out
        )
        all_kept = training_set.n == len(points)  # then a copy would be one too many
        examples = points if all_kept else as_vectors(points.take(training_set.kept), self.kernel)
        table = FeatureTable(examples, training_set.ledger, workers)
        return dataclasses.replace(training_set, rows=table)

    def _least_evaluations(self, solver: Solver, training_set: TrainingSet, n_classes: int) -> int:
        table = training_set.rows
        assert isinstance(table, FeatureTable)
        return (table.n + 1 + table.column_cost) * (1 if n_classes == 2 else n_classes)
