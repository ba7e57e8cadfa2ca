"""Dual solutions that grow with the examples they know of.

Most examples of a near-separable problem lie beyond the margin and never matter; which, a solution of a part of the
data tells almost as well as the final one. So training begins with a sample and lets in the others in a few rounds.
Newcomers are judged by the support vectors found so far, and those beyond the margin are set aside: kernel rows are
computed for the others alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from slackwater.gram.cache import TWO_BYTE_ROUNDING
from slackwater.gram.compressed import CompressedFeatures, compressions
from slackwater.gram.features import Features, worth_keeping
from slackwater.gram.source import IndexArray
from slackwater.gram.storage import compacted
from slackwater.points import GridPoints
from slackwater.points.projected import Axes
from slackwater.solvers.coupling import Scaling
from slackwater.solvers.drive import Task
from slackwater.training import trial
from slackwater.training.caution import FEWEST_KNOWN, Caution
from slackwater.training.course import GAPS, Course
from slackwater.training.training_set import TrainingSet
from slackwater.training.trial import compare

BEYOND = 1.1  # the margin from which on an example is set aside, if margins hardly change,
_WELL_BEYOND = 1.2  # while a solution is still to change
_ON_THE_WAY = 0.2  # the gap at which it tells who else is to be set aside
_FEWEST_TO_GO = 0.2  # of the active examples, for moving the others to pay
_MOST_DROPPED = 0.06  # of the spread, in a sketch,
_SHARE_OF_FEATURES = 0.25  # which saves little with more coordinates
_MOST_OFF = 2e-4  # of gamma times a squared distance, by coordinates that rows leave out,
_SHARE_FOR_ROWS = 0.8  # of them, if that is to pay
_MOST_LIKELY = 0.8  # of the newcomers, for a sketch to be worth its time once more
_FARTHEST = 4.0  # a margin; where this is what caution demands, margins tell nothing
_CASES = 512  # by which errors of rows are judged


class Growth:
    """Dual points of all problems of a training set, of which only some examples are active so far.

    ``alpha`` and ``responses`` have a row for each problem; the responses are kept up to date for active examples.
    """

    def __init__(self, course: Course, whole: TrainingSet, n_classes: int, examples: IndexArray) -> None:
        self.sketch: Features | None = None  # for a first, cheap judgement of examples,
        self.sketch_tells = True  # also of newcomers
        self.coarse = False  # whether rows may be kept coarsely,
        self.turned: CompressedFeatures | None = None  # and computed in fewer coordinates
        self.course = course
        self.whole = whole
        self.n_classes = n_classes
        self.problems = whole.problems(n_classes)
        self.labels = np.stack([problem.labels for problem in self.problems])
        self.alpha = np.zeros(self.labels.shape)
        self.responses = np.zeros(self.labels.shape)
        self.judged = np.full(whole.n, np.inf)  # the least margin of each example when it was last looked at
        self.with_newcomers = Caution(BEYOND)
        self.on_the_way = Caution(_WELL_BEYOND)
        self.steps = [0] * len(self.problems)
        self.tasks: list[Task] = []
        self.scalings: list[Scaling] = []  # of the tasks, as they were solved
        self.active = examples  # at work now,
        self.known = len(examples)  # of so many that were let in or set aside
        self.tol = GAPS[0]  # what the problems are solved to
        self.memory = self.features.row_memory(worth_keeping(self.features, len(self.problems)))
        features = self.features.part(examples)
        self.rows = features.rows(self.memory)
        self.part = whole.arranged(examples, self.rows, features)

    def solve_and_shrink(self) -> bool:
        """Solve, setting aside on the way who is beyond the margin by then."""
        if not self.solve(_ON_THE_WAY):
            return False
        kept = self._mattering(self.on_the_way.beyond)
        self.on_the_way.watch(kept[:0])
        if len(kept) <= (1.0 - _FEWEST_TO_GO) * len(self.active):
            before = self.active
            self._change(kept, kept[:0])
            self.on_the_way.watch(self._set_aside_of(before))
        return self.solve(self.tol)

    def solve(self, tol: float, worst_first: bool = True) -> bool:
        """Solve for the active examples; False if something else than the tolerance ended it.

        Worst violators first, if there are models already; else in random order, which is sooner where most newcomers
        become support vectors.
        """
        self.tasks = self.course.tasks(self.part, self.n_classes, tol)
        for number, task in enumerate(self.tasks):
            task.state.step = self.steps[number]
            if worst_first and self.steps[number] > 0:
                task.state.turn = math.inf
            task.state.alpha[:] = self.alpha[number, self.active]
            task.state.responses[:] = self.responses[number, self.active]
        reached = self.course.drive(self.tasks, self.part)
        for number, task in enumerate(self.tasks):
            self.steps[number] = task.state.step
            self.alpha[number, self.active] = task.state.alpha
            self.responses[number, self.active] = task.state.responses
        solver = self.course.solver
        self.scalings = self.features.workers.run(lambda task: solver.scaling(task.problem, task.state), self.tasks)
        return reached

    def grow(self, newcomers: IndexArray, more: bool) -> bool:
        """Let in newcomers and solve; if there are ``more`` to come, learn how cautious to be with them."""
        self.let_in(newcomers, self.sketch if self.sketch_tells else None, self.with_newcomers.beyond)
        if more:
            self.with_newcomers.watch(self._set_aside_of(newcomers))
            self._look_at(self.with_newcomers.watched)  # a sketch's error is no change
        reached = self.solve_and_shrink()
        if more and reached:
            self._learn()
        return reached

    def grow_to(self, shuffled: IndexArray, known: int) -> bool:
        """Let in or set aside examples until the first ``known`` are judged; False if a limit ended it."""
        newcomers = np.sort(shuffled[self.known : known])
        self.known = known
        return self.grow(newcomers, more=known < len(shuffled))

    def solve_exactly(self, shuffled: IndexArray, known: int) -> bool:
        """Solve for the first ``known`` examples, none of which is set aside; False if a limit ended it."""
        newcomers = np.sort(shuffled[self.known : known])
        self.known = known
        self.let_in(newcomers, None, math.inf)
        return self.solve(self.tol, worst_first=False)

    def choose_tolerance(self, unseen: IndexArray) -> bool:
        """Solve to the finest tolerance; work on with the coarsest one whose models are as good on unseen examples.

        False if a limit ended it.
        """
        found, scalings = [], []
        for tol in GAPS:
            if not self.solve(tol):
                return False
            found.append(self._signed(self.active))
            scalings.append(np.array(self.scalings))
        coefficients = np.concatenate(found)
        used = np.flatnonzero(coefficients.any(axis=0))
        values = self.features.values(unseen, self.active[used], coefficients[:, used])
        weights, wrong = self.whole.weights[unseen], []
        for own, scaling in zip(np.split(values.T, len(GAPS)), scalings, strict=True):
            wrong.append(self.wrong(unseen, scaling[:, :1] * own + scaling[:, 1:]))
        compared = [compare(each, wrong[-1], weights) for each in wrong]
        fine = [tol for tol, each in zip(GAPS, compared, strict=True) if each.within(trial.TOLERANCE_MARGIN)]
        self.tol = max(fine, default=GAPS[-1])
        return True

    def values(self, examples: IndexArray) -> NDArray[np.float64]:
        """The decision values of the models so far: shape (problems, examples)."""
        responses = self.responses_at(examples, self.features)
        return np.asarray(self.labels[:, examples] * self.margins(examples, responses))

    def wrong(self, examples: IndexArray, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which examples decision values (problems, examples) put in a wrong class."""
        classes = values[0] > 0.0 if len(values) == 1 else values.argmax(axis=0)
        return np.asarray(self.whole.codes[examples] != classes)

    def _learn(self) -> None:
        """See how the margins of those set aside have changed since."""
        for caution in (self.with_newcomers, self.on_the_way):
            before = self.judged[caution.watched]
            self._look_at(caution.watched)
            caution.learn(self.judged[caution.watched] - before)

    def margins_tell(self, known: int) -> bool:
        """Whether it pays to set aside who is beyond the margin so far, with so many examples known.

        Where margins change as much as with a large C and noise, most of those set aside have to be let in again: it is
        better to have all of them from the start, if there is room for their rows or these are soon computed again.
        Half as many rows again as support vectors are looked at; and they are not rounded, since that may have to be
        undone.
        """
        rows = 1.5 * len(self.support()) / known * self.whole.n
        room = self.features.cache_bytes // (self.whole.n * self.rows.dtype.itemsize)
        return self.with_newcomers.beyond <= _FARTHEST or rows > room

    def beyond_in_the_end(self) -> float:
        """The margin from which on examples are set aside once all are known: more if caution was learnt on the way."""
        return BEYOND + self.on_the_way.beyond - self.on_the_way.least

    def let_in(self, newcomers: IndexArray, judge: Features | None, beyond: float) -> None:
        """Set aside who is beyond the margin, of the active examples and of the newcomers; the others are active next.

        Newcomers are judged by the support vectors' rows, which are wanted for the next solution anyway; where many are
        expected to be set aside, first by a ``judge``, a sketch or the points themselves, without keeping anything.
        """
        likely = newcomers if judge is None else self._likely(newcomers, judge, beyond)
        if judge is self.sketch:
            self.sketch_tells = len(likely) <= max(_MOST_LIKELY * len(newcomers), FEWEST_KNOWN)
        self._change(self._mattering(beyond), likely)
        self.responses[:, likely] = self._responses_by_rows(likely)
        self._change(self._mattering(beyond), likely[:0])

    def _change(self, kept: IndexArray, newcomers: IndexArray) -> None:
        """Go on with some of the active examples, by their places, and with newcomers."""
        kept = compacted(kept)
        place = np.full(self.whole.n, -1)
        place[self.active] = np.arange(len(self.active))
        rows_kept = place[self.support()]
        self.active = np.concatenate([self.active[kept], newcomers])
        points = self.turned if self.coarse and self.turned is not None else self.features
        features = points.part(self.active)
        if self.coarse == self.rows.two_bytes:
            self.rows = self.rows.carried_over(features.direct_rows(), kept, rows_kept)
        else:
            self.rows = features.rows(self.memory, self.coarse)
        self.part = self.whole.arranged(self.active, self.rows, features)

    def _mattering(self, beyond: float) -> IndexArray:
        """The places of those active examples that are not beyond the margin."""
        return np.flatnonzero(self._matters(self.active, self.responses[:, self.active], beyond))

    def _likely(self, newcomers: IndexArray, judge: Features, beyond: float) -> IndexArray:
        """Those that a sketch of the data, or the points themselves, do not place safely beyond the margin.

        How safely, the error says for active examples.
        """
        known = self.active[:0] if judge is self.features else self._not_supporting()
        error = self.responses_at(known, judge) - self.responses[:, known]
        safely = beyond + 2.0 * np.sqrt(np.sum(error**2, axis=1, keepdims=True) / max(len(known), 1))
        return newcomers[self._matters(newcomers, self.responses_at(newcomers, judge), safely)]

    def _not_supporting(self) -> IndexArray:
        """Active examples other than support vectors, if there are enough.

        Like newcomers, they have no share in their own response, which is what fewer coordinates show worst.
        """
        others = self.active[~(self.alpha[:, self.active] > 0.0).any(axis=0)]
        return others if len(others) >= FEWEST_KNOWN else self.active

    def sketch_along(self, axes: Axes | None) -> None:
        """From now on judge newcomers first along a few axes; on a grid, by the points themselves: none is quicker."""
        if isinstance(self.features.points, GridPoints):
            self.sketch = self.features
        if axes is None:
            return
        few, way = axes.leaving(_MOST_DROPPED * axes.left_out[0]), compressions(self.features.kernel)[0]
        if few is not None and way.RELATIVE_COST * few.share <= _SHARE_OF_FEATURES and self._has_room_for(few):
            self.sketch = CompressedFeatures.of(self.features, way, few).all()

    def economise(self, axes: Axes | None) -> None:
        """From now on compute rows and keep them as cheaply as the models to come will hardly feel.

        That is: compute along nearly all axes that tell, keep values in two bytes.
        """
        if not self.features.kernel.bounded_by_one:
            return
        rounding = TWO_BYTE_ROUNDING * np.linalg.norm(self.alpha[:, self.active], axis=1)
        self.coarse = self._tolerates(_normally(rounding, _CASES))
        most = None if axes is None else axes.leaving(self.features.kernel.squared_distance_tolerance(_MOST_OFF))
        if not self.coarse or most is None or not self._has_room_for(most):
            return
        for way in compressions(self.features.kernel):
            if way.RELATIVE_COST * most.share <= _SHARE_FOR_ROWS:
                turned = CompressedFeatures.of(self.features, way, most)
                errors = self._errors_of(turned)
                if self._tolerates(errors + _normally(rounding, errors.shape[1])):
                    self.turned = turned
                    return

    def _has_room_for(self, axes: Axes) -> bool:
        return axes.fit_into(self.features.matrix_bytes // 2, self.features.n)

    def _tolerates(self, errors: NDArray[np.float64]) -> bool:
        """Whether responses of each problem may have errors such as these, (problems, cases).

        A longer w makes up for most of them, and support vectors that are off by more, half of them to their
        disadvantage, have slack: by how much it is longer is chosen so that it costs least.
        """
        costs = []
        for task, each in zip(self.tasks, np.abs(errors), strict=True):
            if task.assessment is None:
                raise RuntimeError("models are to be found before they are judged")
            slack = float(task.state.caps[task.state.alpha > 0.0].sum()) / max(task.assessment.objective, 1e-300)
            longer = np.append(each, 0.0)
            beyond = np.maximum(each - longer[:, None], 0.0).mean(axis=1)
            costs.append(np.min(2.0 * longer + 0.5 * slack * beyond))
        growth = math.sqrt(self.whole.n / len(self.active))  # of the errors, as the models grow
        return growth * float(np.mean(costs)) <= self.tol / 2.0

    def _errors_of(self, turned: CompressedFeatures) -> NDArray[np.float64]:
        """The errors of some responses of each problem, if they are computed from points in fewer coordinates."""
        known, support = self._not_supporting(), self.support()
        known = known[self.whole.ranked(known)][:: math.ceil(len(known) / _CASES)]
        near = turned.part(np.concatenate([known, support]))
        places = np.arange(near.n)
        values = near.values(places[: len(known)], places[len(known) :], self._signed(support))
        return np.asarray(self.labels[:, known] * values.T - self.responses[:, known])

    def bounded(self) -> NDArray[np.bool_]:
        """Whose coefficients are as large as they may be: shape (problems, active examples)."""
        caps = np.stack([self.course.solver.caps(problem)[self.active] for problem in self.problems])
        return np.asarray(self.alpha[:, self.active] >= caps)

    def support_share(self) -> float:
        """The share of active examples that are support vectors of any problem."""
        return len(self.support()) / len(self.active)

    def _set_aside_of(self, examples: IndexArray) -> IndexArray:
        """Those that are not active, in an order that does not depend on how the examples are numbered."""
        aside = np.setdiff1d(examples, self.active)
        return aside[self.whole.ranked(aside)]

    @property
    def aside(self) -> IndexArray:
        """Examples that are not active."""
        return np.setdiff1d(np.arange(self.whole.n), self.active)

    def sharpen(self) -> None:
        """From now on without rounding."""
        self.coarse, self.turned = False, None
        self._change(np.arange(len(self.active)), self.active[:0])
        self.responses[:, self.active] = self._responses_by_rows(self.active)

    @property
    def features(self) -> Features:
        """The points of all examples."""
        if self.whole.features is None:
            raise ValueError("only examples given by features can be judged one by one")
        return self.whole.features

    def responses_at(self, examples: IndexArray, features: Features) -> NDArray[np.float64]:
        """Responses of examples, of all problems, from the coefficients: shape (problems, examples)."""
        support = self.support()
        return np.asarray(self.labels[:, examples] * features.values(examples, support, self._signed(support)).T)

    def _responses_by_rows(self, last: IndexArray) -> NDArray[np.float64]:
        """The same for the last of the active examples, by rows that are kept, as far as they are to be."""
        supporting = self.alpha[:, self.active] > 0.0
        free = np.asarray((supporting & ~self.bounded()).any(axis=0))
        lasting = free | self.rows.held | (not self.rows.cheap_to_recompute)
        kept, others = (np.flatnonzero(supporting.any(axis=0) & each) for each in (lasting, ~lasting))
        if len(kept) > self.rows.slots:
            return self.responses_at(last, self.features)
        rows = self.rows.fetch(kept, transient=~free[kept])
        values = rows.combinations(self._signed(self.active[kept]), len(self.active) - len(last))
        if len(others):
            values += self.features.values(last, self.active[others], self._signed(self.active[others])).T
        return np.asarray(self.labels[:, last] * values)

    def _signed(self, support: IndexArray) -> NDArray[np.float64]:
        return np.asarray(self.alpha[:, support] * self.labels[:, support])

    def support(self) -> IndexArray:
        return np.flatnonzero((self.alpha > 0.0).any(axis=0))

    def _matters(
        self, examples: IndexArray, responses: NDArray[np.float64], beyond: float | NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Which examples are support vectors of a problem, or not beyond its margin."""
        margins = self.margins(examples, responses)
        return np.asarray(((margins < beyond) | (self.alpha[:, examples] > 0.0)).any(axis=0))

    def margins(self, examples: IndexArray, responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The margins of the models so far: shape (problems, examples). The least of each is kept."""
        scale = np.array([[each.scale] for each in self.scalings])
        bias = np.array([[each.bias] for each in self.scalings])
        margins = np.asarray(scale * responses + bias * self.labels[:, examples])
        self.judged[examples] = margins.min(axis=0)
        return margins

    def _look_at(self, examples: IndexArray) -> None:
        """Judge examples by the kernel itself."""
        self.margins(examples, self.responses_at(examples, self.features))


def _normally(deviations: NDArray[np.float64], cases: int) -> NDArray[np.float64]:
    """Errors with these standard deviations, (problems, cases), as a normal distribution has them."""
    return np.asarray(deviations[:, None] * ndtri((np.arange(cases) + 0.5) / cases))
