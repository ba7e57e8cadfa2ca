"""Screening: a solution of a sample grows with the examples, of which those far beyond the margin are set aside.

Most examples of a near-separable problem have zero dual variables; which, a solution of a part of the data tells almost
as well as the final one. So the examples are admitted in rounds, four times as many each. Newcomers beyond the
screening margin are set aside: kernel rows are computed for the others alone. In the end an audit looks at them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slackwater.fitting.audit import Audited, audited
from slackwater.fitting.compression import has_room_for
from slackwater.fitting.result import BinaryResult
from slackwater.fitting.sample import Sample, Start
from slackwater.fitting.screening_margin import ScreeningMargin
from slackwater.fitting.settings import ScreeningSettings
from slackwater.gram.compressed import CompressedFeatures, compressions
from slackwater.gram.features import Features
from slackwater.gram.source import IndexArray
from slackwater.points import GridPoints

NAME = "screening"


def attempt(start: Start) -> list[BinaryResult] | None:
    """Models of all examples, some of which are screened; None where screening does not pay."""
    context, sample = start.context, start.sample
    if not sample.reached:
        return None
    sample.compress()
    sample.active.use_all_memory()
    active, settings = sample.active, context.settings.screening
    if not context.decide(NAME, "examples", sample.solution.whole.n, ">=", _min_examples(sample, settings)):
        return None
    screening = Screening(sample, settings)
    screening.choose_sketch()
    while sample.seen < len(sample.shuffled):
        if not screening.pays():
            return None
        if not screening.advance(min(settings.growth * sample.seen, len(sample.shuffled))):
            return audited(active, sample.tol, reached=False).results
    return screening.audited_until_good()


def _min_examples(sample: Sample, settings: ScreeningSettings) -> int:
    """More where most examples are support vectors, or where kernel values are cheap."""
    mostly_support = sample.active.support_fraction() >= settings.max_support_fraction
    least = settings.min_examples * (settings.mostly_support_factor if mostly_support else 1)
    return max(least, settings.min_examples_if_cheap) if sample.active.rows.cheap_to_recompute else least


@dataclass
class Screening:
    """Rounds of admission and screening, and what is learnt in them about how far margins change."""

    sample: Sample
    settings: ScreeningSettings
    newcomer_margin: ScreeningMargin = field(init=False)
    active_margin: ScreeningMargin = field(init=False)
    sketch: Features | None = None  # points in few coordinates, for a first, cheap judgement,
    sketch_pays: bool = True  # also of newcomers

    def __post_init__(self) -> None:
        self.newcomer_margin = ScreeningMargin(self.settings.margin, self.settings)
        self.active_margin = ScreeningMargin(self.settings.interim_margin, self.settings)

    def choose_sketch(self) -> None:
        """Judge newcomers first along a few principal axes; on a grid, by the points themselves: none is quicker."""
        features, axes = self.sample.solution.features, self.sample.axes
        if isinstance(features.points, GridPoints):
            self.sketch = features
        if axes is None:
            return
        few, way = axes.leaving(self.settings.sketch_residual * axes.left_out[0]), compressions(features.kernel)[0]
        if few is None or not has_room_for(few, features):
            return
        if way.RELATIVE_COST * few.share <= self.settings.sketch_features:
            self.sketch = CompressedFeatures.of(features, way, few).all()

    def pays(self) -> bool:
        """Whether examples beyond the margin so far are worth screening.

        Where margins change as much as with a large C and noise, most of those screened have to be readmitted: it is
        better to have all of them from the start, if there is room for their rows (half as many again as support
        vectors) or these are cheap.
        """
        sample, context = self.sample, self.sample.context
        n = sample.solution.whole.n
        rows = self.settings.rows_per_support_vector * len(sample.solution.support()) / sample.seen * n
        room = sample.solution.features.cache_bytes // (n * sample.active.rows.dtype.itemsize)
        if self.newcomer_margin.value > self.settings.max_margin and rows > room:
            return True
        return context.decide(NAME, "screening margin", self.newcomer_margin.value, "<=", self.settings.max_margin)

    def advance(self, count: int) -> bool:
        """Admit or screen examples until the first ``count`` are seen, and solve; False if a limit ended it."""
        sample = self.sample
        newcomers = np.sort(sample.shuffled[sample.seen : count])
        sample.seen = count
        sample.context.stage(f"screening, {count:,} of {len(sample.shuffled):,} examples")
        more = count < len(sample.shuffled)
        self._admit(newcomers, self.sketch if self.sketch_pays else None, self.newcomer_margin.value)
        if more:
            self.newcomer_margin.watch(sample.active.screened_of(newcomers))
            self._compute_margins(self.newcomer_margin.watched)  # a sketch's error is no change
        reached = self._solve_and_screen()
        if more and reached:
            self._learn()
        return reached

    def audited_until_good(self) -> list[BinaryResult] | None:
        """Audit, and readmit ever more of the screened examples while they cost too much.

        None where even a look at all of them by the kernel itself leaves too many losses.
        """
        sample, reached = self.sample, True
        sample.context.stage("audit of the screened examples")
        for readmit in (self._by_sketch, self._by_kernel, None):
            found = audited(sample.active, sample.tol, reached)
            if self._good(found) or not all(each.reason.reached for each in found.results):
                return found.results
            if readmit is not None:
                readmit()
                reached = sample.active.solve(sample.tol)
        return None

    def _good(self, found: Audited) -> bool:
        context, tolerance = self.sample.context, self.sample.context.settings.tolerance
        limit = (1.0 + tolerance.max_unknown) * self.sample.tol
        gap = context.decide(NAME, "relative gap with the losses of screened examples", found.gap, "<=", limit)
        measured = "screened examples on the wrong side, share"
        return gap and context.decide(NAME, measured, found.misjudged, "<=", self.settings.max_misjudged)

    def _by_sketch(self) -> None:
        """Judge the screened examples once more. Where many of them matter, none should have been screened."""
        active = self.sample.active
        screened, before = len(active.screened), len(active.examples)
        features = self.sample.solution.features
        self._admit(active.screened, self.sketch or features, self._final_margin())
        if len(active.examples) - before > self.settings.max_readmitted * screened:
            active.admit_all()

    def _by_kernel(self) -> None:
        """Judge every one of the screened examples by the kernel itself."""
        self._admit(self.sample.active.screened, self.sample.solution.features, self._final_margin())

    def _final_margin(self) -> float:
        """The screening margin once all examples are seen: more if margins were seen to change on the way."""
        return self.settings.margin + self.active_margin.value - self.active_margin.least

    def _solve_and_screen(self) -> bool:
        """Solve, screening on the way who is beyond the margin by then."""
        active = self.sample.active
        if not active.solve(self.settings.interim_gap):
            return False
        self.active_margin.watch(active.screen(self.active_margin.value, self.settings.min_interim_screened))
        return active.solve(self.sample.tol)

    def _admit(self, newcomers: IndexArray, by: Features | None, margin: float) -> None:
        """Admit newcomers within the margin; where many are likely to be beyond it, judge them first without rows."""
        undecided = newcomers if by is None else self._undecided(newcomers, by, margin)
        if by is self.sketch:
            limit = max(self.settings.max_sketch_undecided * len(newcomers), self.settings.min_observed)
            self.sketch_pays = len(undecided) <= limit
        self.sample.active.admit(undecided, margin)

    def _undecided(self, newcomers: IndexArray, by: Features, margin: float) -> IndexArray:
        """Those that a sketch, or the points themselves, do not place safely beyond the margin.

        How safely, its error for active examples says.
        """
        active, solution = self.sample.active, self.sample.solution
        exact = by is solution.features
        known = active.examples[:0] if exact else active.not_supporting(self.settings.min_observed)
        error: NDArray[np.float64] = solution.responses_at(known, by) - solution.responses[:, known]
        safely = margin + self.settings.sketch_deviations * np.sqrt(
            np.sum(error**2, axis=1, keepdims=True) / max(len(known), 1)
        )
        return newcomers[solution.within(newcomers, solution.responses_at(newcomers, by), safely)]

    def _learn(self) -> None:
        """See how the margins of screened examples have changed since."""
        last = self.sample.solution.last_margins
        for margin in (self.newcomer_margin, self.active_margin):
            before = last[margin.watched]
            self._compute_margins(margin.watched)
            margin.learn(last[margin.watched] - before)

    def _compute_margins(self, examples: IndexArray) -> None:
        solution = self.sample.solution
        solution.margins(examples, solution.responses_at(examples, solution.features))
