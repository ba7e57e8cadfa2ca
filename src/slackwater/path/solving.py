"""The points of the front for given values of C: on shared kernel values, or else each by a fit of its own."""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.deadline import Deadline
from slackwater.fitting.context import FitContext
from slackwater.fitting.path_tolerance import ChoiceOfGoal, goal_of_path
from slackwater.fitting.shared_path import Goal, SharedPath, WorkingSetFullError
from slackwater.gram.features import Features
from slackwater.path.points import FrontPoint, point_of_dual, point_of_fit
from slackwater.path.preparation import Preparation


def solved(
    data: Preparation, Cs: Sequence[float], deadline: Deadline, choose: ChoiceOfGoal = goal_of_path
) -> list[FrontPoint]:
    """The points for rising C, as many as there is time for; at least one."""
    if data.is_shareable:
        try:
            return _shared(data, Cs, deadline, choose)
        except WorkingSetFullError:
            pass
    points: list[FrontPoint] = []
    for C in Cs:
        if points and deadline.passed():
            break
        points.append(point_of_fit(data, C))
    return points


def _shared(data: Preparation, Cs: Sequence[float], deadline: Deadline, choose: ChoiceOfGoal) -> list[FrontPoint]:
    training_set, context = data.training_set, data.context
    problem, features = training_set.problems(2)[0], data.features(max(Cs))
    path = SharedPath(
        features,
        problem.labels,
        [training_set.weights],
        Cs,
        training_set.order,
        context.solver.coupling,
        choose(context, features, Cs, deadline),
        context.settings.path,
        context.seed,
        deadline=deadline,
    )
    (points,) = path.solve()
    path.release()
    return [point_of_dual(data, problem.labels, point) for point in points]


def finest_goal(context: FitContext, features: Features, Cs: Sequence[float], deadline: Deadline) -> Goal:
    """Of points whose ν is asked for to within a per cent."""
    return Goal.of(context)
