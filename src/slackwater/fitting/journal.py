"""The stages of a fit on disk, so that a fit which was ended by anything goes on where it was.

A fit is a program that solves one stage after the other and decides in between. The journal keeps how each stage ended,
and where the one at work is. A fit that resumes runs the same program from the start: stages that were over return at
once what they ended with, the next one goes on from its last state, and what is decided in between is decided again, by
the same numbers.

Kernel rows that are held when a state is written are not there when it is read, and rows computed in other company
may be rounded otherwise. So an undisturbed run forgets its rows, too, wherever a state may be written: after each
stage, and within one whenever so much work was done, counted in kernel values that were used. These moments do not
depend on the clock. Hence a run that was resumed has the model, bit for bit, of one that was not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.checkpoint import Stored, encode, open_checkpoint, packed, require_writable, saved_in
from slackwater.errors import CheckpointError, warn
from slackwater.expansion import Expansion
from slackwater.files import replace_file
from slackwater.fitting.result import BinaryResult
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.source import Forgetful
from slackwater.solvers.base import Assessment, Solver
from slackwater.solvers.drive import HoldoutBest, Task, epochs_made
from slackwater.stopping import Progress, StopReason, first_reason
from slackwater.tracing import Clock, Recorder, Snapshot
from slackwater.versions import installed_version

SECONDS_BETWEEN_CHECKPOINTS = 30.0
SECONDS_BETWEEN_STAGES = 1.0  # shorter ones are written with the next
WORK_BETWEEN_STATES = 2**33  # kernel values used: some ten seconds; computing held rows anew takes far less

_VERSION = installed_version("slackwater", "unknown")
_WHOLE = ("problem", "step", "evaluations", "n_support")


class Journal:
    """What a checkpoint of one fit holds: the stages that are over, the one at work, or the results."""

    def __init__(self, path: Path, owner: str, ledger: EvaluationLedger, recorder: Recorder) -> None:
        self._path, self._owner, self._ledger, self._recorder = path, owner, ledger, recorder
        require_writable(path)
        self._stored = open_checkpoint(path, owner) if path.exists() else None
        if self._stored is not None and self._stored.header.get("version") != _VERSION:
            raise CheckpointError(
                f"checkpoint {str(path)!r} was written by slackwater {self._stored.header.get('version')}, and this is "
                f"{_VERSION}: training would go another way. Give another path, or delete the file to start afresh."
            )
        self._stages: list[Any] = list(self._stored.header.get("stages", [])) if self._stored is not None else []
        self._resumed = len(self._stages)
        self._arrays = {} if self._stored is None else self._stored.arrays
        self._number = 0
        self._last_save = 0.0

    # ---- stages

    def run(
        self,
        solver: Solver,
        tasks: Sequence[Task],
        held: Sequence[Forgetful],
        clock: Clock,
        advance: Callable[[Keeper], None],
    ) -> Clock:
        """Go through the next stage: as it is stored, from where it was, or by ``advance``; the clock from there on.

        ``held`` is what holds computed values that are not part of the states.
        """
        number, self._number = self._number, self._number + 1
        unfinished = {task.number for task in tasks if task.reason is None}
        keeper = Keeper(self, number, tasks, held, clock)
        if number + 1 < self._resumed:
            clock = self._pour(number, tasks, clock, over=True)
        else:
            if number < self._resumed:
                clock = self._pour(number, tasks, clock, over=False)
                forget(held)  # rows that were fetched on the way to this stage
                for row in keeper.rows_of(self._stages[number], self._arrays):
                    if row.problem in unfinished:
                        replay(solver, tasks[row.problem], row)
            keeper.clock = clock
            advance(keeper)
            self._keep(number, keeper, SECONDS_BETWEEN_STAGES)
        forget(held)
        return clock

    def _pour(self, number: int, tasks: Sequence[Task], clock: Clock, over: bool) -> Clock:
        """The tasks as they are stored; ``over``, if the stage had come to its end."""
        stored, record = self._require_stored(), self._stages[number]
        try:
            for task, kept in zip(tasks, record["tasks"], strict=True):
                mould = [task.state, HoldoutBest.none()]
                task.state, task.holdout_best = stored.pour(kept["state"], mould, task.problem.id_bound)
                task.resumed_at = task.state.step
                if over:
                    task.reason = StopReason(kept["reason"])
                    task.assessment = assessment_of(kept["assessment"])
            saved = saved_in(record, self._arrays, record["history"])
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise stored.damaged(error) from error
        self._ledger.totals["train"] = saved.evaluations
        for row in rows_of(saved.history):
            self._recorder.assessed(row)
        clock.go_on_from(saved.seconds)
        return clock

    def _require_stored(self) -> Stored:
        if self._stored is None:
            raise RuntimeError("there is nothing to resume from")
        return self._stored

    def _keep(self, number: int, keeper: Keeper, seconds: float) -> None:
        """Take down how far a stage has come; write the journal, if the last time was so long ago."""
        name = f"stage{number}"
        self._arrays = {key: each for key, each in self._arrays.items() if not key.startswith(f"{name}.")}
        tasks = []
        for k, task in enumerate(keeper.tasks):
            state = encode([task.state, task.holdout_best], f"{name}.{k}", self._arrays)
            ending = None if task.assessment is None else [float(each or 0.0) for each in task.assessment]
            tasks.append({"state": state, "reason": task.reason and task.reason.value, "assessment": ending})
        self._arrays[f"{name}.history"] = table_of(self._recorder.rows)
        self._arrays[f"{name}.rows"] = table_of(keeper.rows)
        for key in [each for each in self._arrays if each.startswith(f"{name}.")]:
            self._arrays[key] = self._arrays[key].copy()  # states go on changing
        record = {
            "tasks": tasks,
            "evaluations": self._ledger.train,
            "seconds": keeper.clock.seconds(),
            "history": f"{name}.history",
            "rows": f"{name}.rows",
        }
        self._stages = [*self._stages[:number], record]
        self._write({"stages": self._stages}, keeper.clock, seconds)

    # ---- results

    def results(self) -> list[BinaryResult] | None:
        """The models of a fit that was over, if it was."""
        found = None if self._stored is None else self._stored.header.get("results")
        if found is None:
            return None
        stored = self._require_stored()
        try:
            saved = saved_in(stored.header, self._arrays, "history")
            results = [self._result(each, stored) for each in found]
        except (KeyError, ValueError, TypeError) as error:
            raise stored.damaged(error) from error
        self._ledger.totals["train"] = saved.evaluations
        for row in rows_of(saved.history):
            self._recorder.assessed(row)
        return results

    def _result(self, kept: dict[str, Any], stored: Stored) -> BinaryResult:
        mould = Expansion(np.empty(0, np.intp), np.empty(0), 0.0)
        expansion = stored.pour(kept["expansion"], mould, int(kept["n"]))
        if len(expansion.support) != len(expansion.coefficients):
            raise ValueError("another number of coefficients than of support vectors")
        assessment = assessment_of(kept["assessment"])
        return BinaryResult(
            expansion, assessment, StopReason(kept["reason"]), int(kept["steps"]), bool(kept["certified"])
        )

    def keep_results(self, results: Sequence[BinaryResult], n: int, clock: Clock) -> None:
        """Write models that are all there is to resume from, if they have reached what they were to reach."""
        if not all(each.reason.reached for each in results):
            return
        arrays, kept = {"history": table_of(self._recorder.rows)}, []
        for k, each in enumerate(results):
            kept.append(
                {
                    "expansion": encode(each.expansion, f"result{k}", arrays),
                    "assessment": [float(value or 0.0) for value in each.assessment],
                    "reason": each.reason.value,
                    "steps": each.steps,
                    "certified": each.certified,
                    "n": n,
                }
            )
        self._arrays = arrays
        header = {"results": kept, "evaluations": self._ledger.train, "seconds": clock.seconds()}
        self._write(header, clock, 0.0)

    def close(self, clock: Clock) -> None:
        """Write what was taken down last, however little time has passed."""
        if self._stages and self._number:
            self._write({"stages": self._stages}, clock, 0.0)

    def _write(self, header: dict[str, Any], clock: Clock, seconds: float) -> None:
        """A failing disk does not end the run."""
        now = clock.seconds()
        if now - self._last_save < seconds:
            return
        with clock.paused():
            try:
                replace_file(
                    self._path, packed({"fingerprint": self._owner, "version": _VERSION, **header}, self._arrays)
                )
            except OSError as error:
                warn(
                    f"checkpoint {str(self._path)!r} could not be written ({error}); training goes on. Free some "
                    "space, or name another file.",
                    RuntimeWarning,
                )
        self._last_save = now


class Keeper:
    """Within a stage, looks on and has its state taken down between two steps, after so much work."""

    def __init__(
        self, journal: Journal, number: int, tasks: Sequence[Task], held: Sequence[Forgetful], clock: Clock
    ) -> None:
        self.tasks, self.clock = tasks, clock
        self.rows: list[Snapshot] = []  # the assessments of this stage
        self._journal, self._number, self._held = journal, number, held
        self._done = 0

    def rows_of(self, record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> list[Snapshot]:
        """The assessments that were made in this stage before; they are among those to be kept again."""
        self.rows = rows_of(arrays[record["rows"]])
        return self.rows

    def between_steps(self, work: int) -> None:
        """Called with the kernel values used by all steps so far; rows are forgotten after so many."""
        if work - self._done < WORK_BETWEEN_STATES:
            return
        self._done = work
        forget(self._held)
        self._journal._keep(self._number, self, SECONDS_BETWEEN_CHECKPOINTS)

    def assessed(self, row: Snapshot) -> None:
        self.rows = [*(each for each in self.rows if each[:2] != row[:2]), row]

    def tick(self, progress: Progress) -> None:
        pass

    def ended(self) -> None:
        pass


def forget(held: Sequence[Forgetful]) -> None:
    for each in held:
        each.forget()


def assessment_of(values: Sequence[float]) -> Assessment:
    named: dict[str, Any] = dict(zip(Assessment._fields, values, strict=True))
    return Assessment(**{**named, "n_support": int(named["n_support"]), "holdout_error": None})


def table_of(rows: Sequence[Snapshot]) -> NDArray[np.float64]:
    return np.array(rows, dtype=np.float64).reshape(-1, len(Snapshot._fields))


def rows_of(history: NDArray[np.float64]) -> list[Snapshot]:
    rows = []
    for row in history.tolist():
        values = dict(zip(Snapshot._fields, row, strict=True))
        rows.append(Snapshot(**{**values, **{name: int(values[name]) for name in _WHOLE}}))
    return rows


def replay(solver: Solver, task: Task, row: Snapshot) -> None:
    """Show the rules the regular assessments made before the interruption: some count them, some were met."""
    if not solver.due(row.step):
        return
    error = None if np.isnan(row.holdout_error) else row.holdout_error
    progress = Progress(
        steps=0,
        evaluations=0,
        seconds=0.0,
        gap=row.gap,
        objective=row.objective,
        bound=row.bound,
        holdout_error=error,
        violation=row.violation,
        epochs=epochs_made(solver, task.problem, row.step),
    )
    task.reason = first_reason(task.rules, progress)
