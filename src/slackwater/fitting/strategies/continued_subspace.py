"""Subspace, continued: the landmarks of an earlier model, and Newton's method from its coefficients.

That the subspace is as good as the exact solution was tested when it was chosen; it stays in force until there are
twice as many examples. What is tested again is whether its landmarks suffice for the examples there are now.
"""

from __future__ import annotations

import numpy as np

from slackwater.fitting.active_set import ActiveSet
from slackwater.fitting.dual_solution import DualSolution
from slackwater.fitting.result import BinaryResult
from slackwater.fitting.sample import Sample, Start
from slackwater.fitting.strategies.subspace import SolvedSample
from slackwater.fitting.subspace.basis import independent_basis, make_orthonormal
from slackwater.fitting.subspace.landmarks import Landmarks, gram_of
from slackwater.fitting.subspace.problem import SubspaceModel
from slackwater.fitting.subspace.trial import Trial
from slackwater.fitting.warm_start import Span, WarmStart
from slackwater.memory import untouched


def attempt(start: Start, warm: WarmStart, span: Span, growth: float) -> list[BinaryResult] | None:
    """Models in the subspace of the earlier landmarks, for ``growth`` times the examples; None if these fall short."""
    context, training_set = start.context, start.context.training_set
    features = start.features.on_grid()
    whole = training_set.arranged(np.arange(training_set.n), training_set.rows, features)
    solution = DualSolution(context.solver, whole, context.n_classes)
    solution.steps = warm.steps.tolist()
    points = warm.places[whole.ranked(warm.places)]  # by content
    active = ActiveSet(context, solution, points)
    sample = Sample(context, context.rng.permutation(whole.order), active, len(points), len(points), 0.0, True)
    basis = independent_basis(gram_of(features, points))
    landmarks = Landmarks(basis.members, basis, span.widths, span.max_half_loss, span.smooth)
    trial = Trial(context, SolvedSample(sample), landmarks)
    context.stage(f"going on in the subspace of {len(basis.members):,} landmarks, {whole.n:,} examples")
    columns = untouched((whole.n, len(basis.members)), features.points.dtype)
    features.part(sample.shuffled).fill_columns(features.part(points[basis.members]), columns)
    make_orthonormal(columns, basis, features.workers)
    place = np.empty(whole.n, dtype=np.intp)
    place[warm.places] = np.arange(len(warm.places))
    coefficients = warm.coefficients[:, place[points[basis.members]]]
    starts = [
        SubspaceModel(basis.factor.T @ own, bias) for own, bias in zip(coefficients, warm.biases.tolist(), strict=True)
    ]
    gaps = [min(1.0, growth * gap) for gap in span.gaps]
    return trial.finished(columns, starts, points[basis.members], gaps)
