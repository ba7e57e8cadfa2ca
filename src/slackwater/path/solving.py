"""The points of the front for given values of C: on shared kernel values, or else each by a fit of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slackwater.deadline import Deadline
from slackwater.fitting.context import FitContext
from slackwater.fitting.path_tolerance import Aim, ChoiceOfAim, aim_of_path
from slackwater.fitting.shared_path import Goal, SharedPath, WorkingSetFullError
from slackwater.fitting.shared_subspace import SharedSubspace
from slackwater.gram.features import Features
from slackwater.path.points import FrontPoint, point_in_subspace, point_of_dual, point_of_fit
from slackwater.path.preparation import Preparation


def solved(
    data: Preparation, Cs: Sequence[float], deadline: Deadline, choose: ChoiceOfAim = aim_of_path
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
        points.append(point_of_fit(data, C, deadline))
    return points


def _shared(data: Preparation, Cs: Sequence[float], deadline: Deadline, choose: ChoiceOfAim) -> list[FrontPoint]:
    """In a subspace where that is tested to do as well, else by the dual."""
    context = data.context
    aim = choose(context, data.features(max(Cs)), Cs, deadline)
    contexts, points = dict.fromkeys(Cs, context), list[FrontPoint]()
    if aim.sample is not None:
        subspace = SharedSubspace(context, aim.sample, aim.goal, deadline)
        found = subspace.solve()
        contexts = subspace.contexts
        points = [point_in_subspace(data, point, contexts[point.C].decisions) for point in found]
    done = {point.C for point in points}
    others = [C for C in Cs if C not in done]
    if others and not (points and deadline.passed()):
        points += _of_dual(data, others, aim.goal, deadline, contexts)
    return sorted(points, key=lambda point: point.C)


def _of_dual(
    data: Preparation, Cs: Sequence[float], goal: Goal, deadline: Deadline, contexts: Mapping[float, FitContext]
) -> list[FrontPoint]:
    training_set, context = data.training_set, data.context
    problem = training_set.problems(2)[0]
    path = SharedPath(
        data.features(max(Cs)),
        problem.labels,
        [training_set.weights],
        Cs,
        training_set.order,
        context.solver.coupling,
        goal,
        context.settings.path,
        context.seed,
        deadline=deadline,
    )
    (points,) = path.solve()
    path.release()
    return [point_of_dual(data, problem.labels, point, contexts[point.C].decisions) for point in points]


def finest_aim(context: FitContext, features: Features, Cs: Sequence[float], deadline: Deadline) -> Aim:
    """Of points whose ν is asked for to within a per cent."""
    return Aim(Goal.of(context))
