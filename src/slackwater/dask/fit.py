"""One fit on a cluster, from the user's collections to the attributes of the estimator."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from slackwater.dask.clients import TidyClient, closing_named, connected, direct, tidy
from slackwater.dask.cluster import grouped, known_workers, rows_at, survey
from slackwater.dask.host import Labelling
from slackwater.dask.partitions import partitions_of
from slackwater.dask.transport import DaskTransport, OffGridAnywhereError, Source
from slackwater.deadline import Clock, Deadline
from slackwater.errors import IndefiniteKernelWarning
from slackwater.estimators.callback_support import FitTasks
from slackwater.estimators.validation import class_factors
from slackwater.estimators.watching import progress_of, warn_unless_converged, words_of_interrupt
from slackwater.fitting.training_set import TrainingSet, warn_if_indefinite
from slackwater.gram.direct import DirectRows
from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels.base import Kernel
from slackwater.kernels.registry import gamma_of_variance, make_kernel
from slackwater.points import as_points
from slackwater.shards.fit import ShardedSet, fit, problems_of, support_of
from slackwater.shards.form import choose_form
from slackwater.shards.session import Session
from slackwater.shards.shard import Plan
from slackwater.shards.solver import ShardedBlocks, ShardedProblem
from slackwater.tracing import Callback, StageWatcher, onlookers
from slackwater.workers import Workers, thread_count

_MOST_RESERVED = 0.25  # of a limit of time, for the rows of the support vectors


@dataclass
class ClusterFit:
    """The estimator ``est``, its data, and what becomes of them."""

    est: Any
    X: Any
    y: Any
    sample_weight: Any

    def run(self) -> None:
        est = self.est
        _refuse(est)
        self.deadline = Deadline(Clock(), math.inf if est.max_time is None else float(est.max_time))
        self.watchers: list[Callback] = [*progress_of(est), *onlookers()]
        with connected(est.client) as client, Workers(thread_count(est.n_jobs)) as workers, self._shown():
            known = list(known_workers(client, est.worker_timeout, "the cluster's workers"))
            with closing_named(client), direct(client, next(iter(known), None)), tidy(client) as tidied:
                self._run_on(tidied, workers, max(len(known), 1))

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Let whoever watches know when the fit is over."""
        try:
            yield
        finally:
            for each in self.watchers:
                if isinstance(each, StageWatcher):
                    each.done()

    def _tell(self, stage: str) -> None:
        """What the fit does from now on."""
        for each in self.watchers:
            if isinstance(each, StageWatcher):
                each.staged(stage)

    def _run_on(self, client: TidyClient, workers: Workers, n_workers: int) -> None:
        est = self.est
        self.partitions = partitions_of(self.X, self.y, self.sample_weight, n_workers)
        self.seed = est._seed()
        self._tell(f"looking at {len(self.partitions):,} partitions")
        before = self.deadline.clock.seconds()
        self.overview = survey(client, self.partitions, est.gamma == "scale", self.seed, est.worker_timeout)
        self.reading = self.deadline.clock.seconds() - before
        self.kernel = self._kernel()
        transport = self._transport(client, n_workers, workers)
        try:
            self._train(client, transport, workers)
        finally:
            est.cluster_log_ = transport.log
            transport.release()

    # ---- what is trained on

    def _kernel(self) -> Kernel:
        est, view = self.est, self.overview
        gamma = gamma_of_variance(view.variance, view.n_features) if est.gamma == "scale" else est.gamma
        points = as_points(view.sample)
        kernel = make_kernel(est.kernel, gamma=gamma, degree=est.degree, coef0=est.coef0, points=points)
        rows = DirectRows(kernel, points, EvaluationLedger())
        with warnings.catch_warnings():  # it is an error here
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            semidefinite = warn_if_indefinite(kernel, rows, np.random.default_rng(self.seed))
        if not semidefinite:
            raise ValueError(
                f"kernel must be positive semi-definite on a cluster, got {kernel.name!r}, which is not on this data. "
                "Use another kernel, or slackwater.SVC."
            )
        return kernel

    def _transport(self, client: TidyClient, n_workers: int, workers: Workers) -> DaskTransport:
        """Shards on the workers, in the form that a sample suggests, or else in one that takes any points."""
        est, view = self.est, self.overview
        solver = est._solver(len(view.classes))
        factors = class_factors(est.class_weight, view.classes, view.counts)
        norm = solver.C * math.sqrt(view.squared_weight) * float(factors.max())
        tolerance = est._settings.tolerance.exact_violation
        stated = est.tol is not None or est.warm_start or est.checkpoint is not None
        form = choose_form(view.sample, self.kernel, norm, tolerance, stated, workers)
        labelling = Labelling(view.classes, factors, 1e-15 * view.weight)
        firsts = view.firsts
        counts = np.diff([*firsts, view.n]).tolist()
        groups = grouped(counts, n_workers)
        self._tell(f"putting {view.n:,} rows into {len(groups)} shards")
        for chosen in (form, form.without_grid()):
            plan = Plan(
                self.kernel,
                chosen,
                solver.coupling,
                solver.C,
                problems_of(len(view.classes), est._trains_pairs(len(view.classes))),
                len(view.classes),
                self.seed,
                est.validation_fraction if est.early_stopping else 0.0,
                two_bytes=False,
            )
            transport = DaskTransport(
                client,
                [[Source(self.partitions[k], firsts[k]) for k in group] for group in groups],
                plan,
                labelling,
                None if est.cache_size is None else int(est.cache_size * 2**20),
                est.on_disk,
                [sum(counts[k] for k in group) * view.n_features * chosen.bytes_a_coordinate for group in groups],
                est.worker_timeout,
                None if est.checkpoint is None else str(est.checkpoint),
            )
            try:
                transport.place_all()
                return transport
            except OffGridAnywhereError:
                continue
        raise RuntimeError("points fit no form")

    # ---- training

    def _train(self, client: TidyClient, transport: DaskTransport, workers: Workers) -> None:
        est, view = self.est, self.overview
        tasks = FitTasks(est, self.X, self.y, self.sample_weight)
        session = Session(transport, transport.plan, EvaluationLedger(), workers)
        solver = ShardedBlocks(transport.plan.C, transport.plan.coupling, session)
        problems = [
            ShardedProblem(
                number,
                sum(sizes[number].n for sizes in transport.sizes),
                sum(sizes[number].weight for sizes in transport.sizes),
                sum(sizes[number].held_out for sizes in transport.sizes),
            )
            for number in range(len(transport.plan.problems))
        ]
        training_set = cast("TrainingSet", ShardedSet(session, problems, max(each.n for each in problems)))
        n_classes = len(view.classes)
        est._check_affordable(cast("Any", solver), training_set, n_classes)
        # The support vectors' rows are read from the partitions once training is over.
        reserved = min(self.reading, _MOST_RESERVED * self.deadline.limit)
        deadline = self.deadline.within(self.deadline.limit - reserved)
        context = est._context(cast("Any", solver), training_set, n_classes, self.seed, deadline)
        context.watchers = self.watchers
        tasks.watch(context, lambda models: self._attributes(client, session, models))
        with context.interruptible():
            result = fit(context)
            self._tell("fetching the support vectors")
            self._keep_model(est, client, session, [each.expansion for each in result.binary_results])
            est._keep_account(training_set, result)
        tasks.end(lambda: dict(vars(est)))
        if deadline.interrupted.is_set():
            raise KeyboardInterrupt(words_of_interrupt(est))
        warn_unless_converged(est, result.binary_results)

    def _attributes(self, client: TidyClient, session: Session, models: Any) -> dict[str, Any]:
        """The fitted attributes of models that training has come to."""
        shown = copy.copy(self.est)
        self._keep_model(shown, client, session, models)
        return dict(vars(shown))

    def _keep_model(self, est: Any, client: TidyClient, session: Any, expansions: Any) -> None:
        """As any other estimator of its kind keeps it."""
        view = self.overview
        support, model = support_of(expansions, session)
        silent = session.transport.silent
        rows = rows_at(client, self.partitions, view.firsts, support.row_numbers, est.worker_timeout, silent)
        est.classes_, est._kernel = view.classes, self.kernel
        est.class_weight_ = class_factors(est.class_weight, view.classes, view.counts)
        est.shape_fit_, est.n_features_in_ = (view.n, view.n_features), view.n_features
        if view.names is not None:
            est.feature_names_in_ = np.array(view.names, dtype=object)
        elif hasattr(est, "feature_names_in_"):
            del est.feature_names_in_
        est._in_pairs = est._trains_pairs(len(view.classes))
        est._keep_model(rows, _SupportSet(np.arange(len(support.codes)), support.codes, support.weights), model)
        wide = support.row_numbers.max(initial=0) > np.iinfo(np.int32).max
        est.support_ = support.row_numbers.astype(np.int64 if wide else np.int32)


@dataclass(frozen=True)
class _SupportSet:
    """The support vectors, as a training set that has no other examples."""

    kept: NDArray[np.intp]
    codes: NDArray[np.intp]
    weights: NDArray[np.float64]


def _refuse(est: Any) -> None:
    """What a cluster cannot serve, before any work."""
    refusals = [
        (est.kernel == "precomputed", "kernel", "a kernel of rows on a cluster", "Pass features"),
        (est.probability is True, "probability", "False on a cluster", "Calibrate to_local() on rows in memory"),
        (
            est.strategy not in ("auto", "exact", "subspace"),
            "strategy",
            "'auto', 'exact' or 'subspace' on a cluster",
            "Leave strategy='auto'",
        ),
    ]
    for applies, name, rule, remedy in refusals:
        if applies:
            raise ValueError(f"{name} must be {rule}, got {getattr(est, name)!r}. {remedy}, or use slackwater.SVC.")
