"""The quick way to a model that is as good as the optimum, by whichever of three ways suits the data.

- A **narrow kernel** has a nearly sparse matrix, which is computed once, without its zeros, and worked on as a whole.
- Else a sample is solved exactly. If the **span** of a few hundred of its points holds a solution that costs hardly
  more than the sample's optimum, the function is simple and the labels are noisy, and the best function of that span
  is found for all examples.
- Else the classes are told apart by details, which take many support vectors to describe: the sample's solution
  **grows** with the examples.
"""

from __future__ import annotations

import numpy as np

from slackwater.expansion import Expansion
from slackwater.gram.features import Features
from slackwater.gram.narrow import worthwhile_narrow_rows
from slackwater.gram.sketch import SAMPLE, sketched
from slackwater.gram.source import IndexArray
from slackwater.objectives import hinge_total
from slackwater.solvers.drive import Task
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.training.growth import Course, Growth, with_losses
from slackwater.training.run import Ending, Outcome, Plan, ending
from slackwater.training.spanning import endings_in_span
from slackwater.training.training_set import TrainingSet

FEWEST_EXAMPLES = 8192  # with fewer, the exact solution takes no time worth saving
GAP = 0.03  # at which the test error is that of the optimum
_GAP_OF_ALL = 2.0 * GAP  # with the examples that were set aside
_SAMPLE_SHARE, _SMALLEST_SAMPLE, _LARGEST_SAMPLE = 16, 2048, 16384
_FEWEST_OF_A_CLASS = 32
_LOOKED_AT = 4096  # examples by which a model on narrow rows is judged
_GROWTH = 4


def train_quickly(solver: DualBlocks, training_set: TrainingSet, n_classes: int, seed: int, plan: Plan) -> Outcome:
    """Train one model for each binary problem of a set of examples with features."""
    if training_set.features is None:
        raise ValueError("examples must be given by features, not by kernel values")
    features = training_set.features.lean()
    course = Course(solver, seed, plan)
    rng = np.random.default_rng(seed)
    narrow = worthwhile_narrow_rows(features, rng)
    if narrow is not None:
        order, rows = narrow
        arranged = training_set.arranged(order, rows, None)
        return Outcome(_on_narrow_rows(course, arranged, order, features, n_classes, rng), course.recorder)
    whole = training_set.arranged(np.arange(training_set.n), training_set.rows, features)
    growth = Growth(course, whole, n_classes)
    shuffled = _shuffled_by_class(whole, rng)
    reached = growth.solve(np.sort(shuffled[: _sample_size(whole.n)]), GAP)
    if reached:
        endings = endings_in_span(growth, features, rng) if training_set.certified else None
        if endings is not None:
            return Outcome(endings, course.recorder)
        growth.sketch = sketched(features, shuffled[:SAMPLE])
        return Outcome(_grown(growth, shuffled, rng), course.recorder)
    return Outcome(growth.endings(growth.look_back(rng)), course.recorder)


def _on_narrow_rows(
    course: Course,
    narrow: TrainingSet,
    order: IndexArray,
    features: Features,
    n_classes: int,
    rng: np.random.Generator,
) -> list[Ending]:
    tasks = course.tasks(narrow, n_classes, GAP)
    course.drive(tasks, narrow)
    sample = rng.permutation(narrow.n)[:_LOOKED_AT]
    return [_with_all_values(course.solver, task, order, features, sample) for task in tasks]


def _with_all_values(
    solver: DualBlocks, task: Task, order: IndexArray, features: Features, sample: IndexArray
) -> Ending:
    """The ending as the kernel itself has it, judged by a sample: small values that were left out can add up."""
    found = ending(solver, task)
    support, coefficients, bias = found.expansion.support, found.expansion.coefficients, found.expansion.bias
    scale = solver.scaling(task.problem, task.state).scale
    labels = task.problem.labels[sample]
    caps = task.state.caps[sample] * (task.problem.n / len(sample))
    whole = labels * (features.values(order[sample], order[support], coefficients[None, :])[:, 0] + bias)
    shown = scale * task.state.responses[sample] + labels * bias
    assessment = with_losses(found.assessment, hinge_total(whole, caps) - hinge_total(shown, caps))
    return found._replace(expansion=_renumbered(found.expansion, order), assessment=assessment)


def _renumbered(expansion: Expansion, numbers: IndexArray) -> Expansion:
    coefficients = np.zeros(len(numbers))
    coefficients[numbers[expansion.support]] = expansion.coefficients
    return Expansion.from_dense(coefficients, expansion.bias)


def _grown(growth: Growth, shuffled: IndexArray, rng: np.random.Generator) -> list[Ending]:
    """Let in the other examples, so that four times as many are known; in the end, look at the models as they are."""
    known, reached = len(growth.active), True
    while known < len(shuffled) and reached:
        newcomers = shuffled[known : _GROWTH * known]
        known += len(newcomers)
        reached = growth.solve(growth.let_in(np.sort(newcomers)), GAP)
    endings = growth.endings(growth.look_back(rng))
    for look_again in (_by_sketch, _at_all, _with_all):
        if not reached or np.mean([each.assessment.gap for each in endings]) <= _GAP_OF_ALL:
            break
        reached = look_again(growth)
        endings = growth.endings(growth.look_back(rng))
    return endings


def _by_sketch(growth: Growth) -> bool:
    """Judge those set aside once more, as before."""
    return growth.solve(growth.let_in(growth.aside), GAP)


def _at_all(growth: Growth) -> bool:
    """Judge every one of those set aside by the kernel itself."""
    growth.sketch = None
    return growth.solve(growth.let_in(growth.aside), GAP)


def _with_all(growth: Growth) -> bool:
    """Set none aside any more: the exact way, from where growth has come to."""
    growth.let_in(growth.aside)
    return growth.solve(np.arange(growth.whole.n), GAP)


def _sample_size(n: int) -> int:
    return min(max(n // _SAMPLE_SHARE, _SMALLEST_SAMPLE), _LARGEST_SAMPLE)


def _shuffled_by_class(training_set: TrainingSet, rng: np.random.Generator) -> IndexArray:
    """All examples in random order, some of each class in front; it depends on their content, not on their order."""
    shuffled = rng.permutation(training_set.order)
    codes = training_set.codes[shuffled]
    rank = np.empty(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        rank[members] = np.arange(len(members))
    return np.concatenate([shuffled[rank < _FEWEST_OF_A_CLASS], shuffled[rank >= _FEWEST_OF_A_CLASS]])
