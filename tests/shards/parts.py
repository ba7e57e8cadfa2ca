"""Problems cut into shards that are in this process, as tests want them."""

from __future__ import annotations

import numpy as np

from slackwater.gram.ledger import EvaluationLedger
from slackwater.kernels.registry import make_kernel
from slackwater.points import as_points
from slackwater.shards.examples import Rows, distinct_part, gather
from slackwater.shards.fit import problems_of
from slackwater.shards.form import choose_form
from slackwater.shards.session import LocalTransport, Session
from slackwater.shards.shard import Plan, Shard
from slackwater.shards.solver import ShardedBlocks, ShardedProblem, ShardedRows
from slackwater.solvers.coupling import Balanced
from slackwater.solvers.drive import Task, drive
from slackwater.stopping import GapBelow, MaxSteps
from slackwater.tracing import Clock
from slackwater.workers import Workers


def session_of(X, codes, C=1.0, gamma=1.0, shards=3, coupling=None, weights=None, folder=None, in_pairs=True):
    """A session with shards of neighbouring rows."""
    n, n_classes, workers = X.shape[0], int(codes.max()) + 1, Workers()
    weights = np.ones(n) if weights is None else weights
    kernel = make_kernel("rbf", gamma=gamma, degree=3, coef0=0.0, points=as_points(X))
    form = choose_form(X, kernel, C * np.linalg.norm(weights), 1e-3, True, workers)
    problems = problems_of(n_classes, in_pairs)
    plan = Plan(kernel, form, coupling or Balanced(), C, problems, n_classes, 0, 0.0, False)
    made = []
    for number, rows in enumerate(np.array_split(np.arange(n), shards)):
        own = Rows(X[rows[0] : rows[-1] + 1], codes[rows], weights[rows], int(rows[0]))
        where = None if folder is None else folder / str(number)
        if where is not None:
            where.mkdir()
        examples = gather([distinct_part(own, form, workers)], form, n_classes, [0, number], 0.0, where)
        made.append(Shard(examples, plan, 2**24))
    return Session(LocalTransport(made), plan, EvaluationLedger(), workers)


def problems_in(session):
    sizes = [shard.sizes() for shard in session.transport.shards]
    return [
        ShardedProblem(k, sum(each[k].n for each in sizes), sum(each[k].weight for each in sizes), 0.0)
        for k in range(len(session.plan.problems))
    ]


def solved(session, tol=1e-5, most=500):
    """The tasks of all problems, driven to a gap."""
    solver = ShardedBlocks(session.plan.C, session.plan.coupling, session)
    rng = np.random.default_rng(0)
    problems = problems_in(session)
    tasks = [Task(p.number, p, solver.start(p, rng), [GapBelow(tol), MaxSteps(most)]) for p in problems]
    drive(solver, tasks, ShardedRows(session, max(p.n for p in problems)), session.ledger, Clock())
    return solver, tasks
