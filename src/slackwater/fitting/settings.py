"""Every threshold that decides how a fit is put together: meaning, unit and evidence, grouped by who asks for it.

``bench/sensitivity.py`` halves and doubles each that ``SVC`` asks for and prints what that does to time, error and gap.
Constants of a numerical method (block sizes, steps of a line search) stay with that method.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SampleSettings:
    """The sample that is solved before a strategy is chosen."""

    fraction: float = 1 / 16  # of the examples
    min_examples: int = 2048
    max_examples: int = 16384  # its exact solution takes about two seconds
    min_per_class: int = 32  # as far as there are as many: a class that is absent would have no model
    max_growth: float = 2.0  # factor of the examples, on a warm start: beyond, all is measured anew,
    max_change: float = 1.2  # and of C or the kernel's parameters: MNIST with twice the C took 1.24 of starting over


@dataclass(frozen=True)
class ToleranceSettings:
    """To what relative gap the dual is solved by default, and what may stay unknown of it."""

    exact_gap: float = 1e-4  # of a fit without a sample. With 1e-3, 0.4 % of waveform's labels (3 classes) were others
    matrix_gap: float = 1e-3  # that a fit whose kernel matrix is in memory goes beyond that violation for,
    finest: float = 1 / 16  # down to this part of it: where C is large, a small violation is a large loss
    gaps: tuple[float, ...] = (0.03, 0.01, 0.003)  # of a fit with one: the coarsest that the comparison accepts
    max_deficit: float = 0.001  # test error: by how much a coarser gap may be worse than the finest
    comparison_examples: int = 8192
    max_unknown: float = 2 / 3  # of the gap: losses of screened examples and of values left out, on top of it

    @property
    def exact_violation(self) -> float:
        """Of the optimality conditions, at the default gap: 1e-3, the default of LIBSVM."""
        return 10.0 * self.exact_gap


@dataclass(frozen=True)
class ChunkingSettings:
    """The exact solution by a working set whose kernel matrix is in memory."""

    max_examples: int = 3072  # of the problem; with more, rows as they are needed are as quick, and take less memory
    max_working_set: int = 8192  # examples: a matrix of 256 MB in single precision
    max_at_once: int = 1024  # examples that are all in the working set from the start: their matrix takes a millisecond
    sample: int = 512  # the first working set of others
    share_at_once: float = 0.6  # of the examples expected to be in the working set, for all of them to join
    growth: float = 2.0  # times the working set: violators that join in a round
    few_violators: float = 1.5  # times the working set: if no more join, the final tolerance is aimed at
    coarse_tolerance: float = 0.1  # violation to which earlier rounds are solved


@dataclass(frozen=True)
class PathSettings:
    """Several values of C, and parts of the examples, on one kernel matrix (``fitting/shared_path.py``)."""

    max_at_once: int = 12288  # examples whose whole matrix is computed: 600 MB in single precision
    sample: int = 2048  # the first working set of more
    coarse: float = 0.1  # violation to which its first rounds are solved
    tested: float = 8.0  # times the working set: examples tested in such a round
    growth: float = 1.0  # times the working set: violators that join in a round
    few_violators: float = 0.75  # times the working set: if no more are found, the final tolerance is aimed at
    near: float = 0.3  # margins from a violation: examples further off are tested again at the very end only
    reserve: float = 0.05  # margins from a violation, within which examples are in the final working set
    share_at_once: float = 0.6  # of the examples, expected in the working set, for all of them to join


@dataclass(frozen=True)
class PairSettings:
    """One-vs-one: pairs of small classes, which are solved together."""

    max_examples: int = 2048  # of a pair: larger ones have few support vectors beside their size, and are chunked
    max_chunked: int = 16384  # examples of a pair that is; its memory serves the next one
    strip_values: int = 2**22  # kernel values of some classes with all others in memory at a time
    max_filled_up: int = 2048  # pairs that have the model of few examples where time is up: some hundredths of a second
    few_examples: int = 1024  # of all classes together


@dataclass(frozen=True)
class PrecisionSettings:
    """Single or double precision (the rule for kernel values is in ``gram/precision.py``)."""

    max_error: float = 1.0  # margins that responses may be off by in single precision, which all but exact compute in
    max_examples_double: int = 2**16  # above, an exact solution in double precision is no alternative to the others


@dataclass(frozen=True)
class LowRankSettings:
    """The dual by the features of a linear kernel."""

    min_examples: int = 3073  # with fewer, the kernel matrix is in memory and chunking as quick
    max_features: int = 128  # 22,500 examples of so many: 0.75 s, oneDAL 8.4 (bench/linear.py). Time grows with d²
    max_gap: float = 0.01  # that rounding may leave: beyond, kernel values may tell more


@dataclass(frozen=True)
class SparseKernelSettings:
    """Sparse rows of a kernel that is narrow compared with the spread of the data."""

    max_share: float = 0.02  # of the kernel values above 1e-4 (gram.narrow.NEGLIGIBLE); Forest: 0.0024
    max_near: float = 0.3  # of the pairs of leaves, in which values may exceed that
    audit_examples: int = 4096  # whose decision values are computed with all kernel values
    max_corrections: int = 4  # of the responses, by the values left out, before dense rows take over
    refinement: float = 0.3  # the next correction's tolerance, relative to the gap reached
    min_progress: float = 0.5  # of the gap, that a correction may leave: with more, dense rows take over


@dataclass(frozen=True)
class NearRowsSettings:
    """Sparse rows computed on demand (``gram/near_rows.py``), for methods that add single rows. Not of ``SVC``.

    Evidence: 3000 steps of SBP on one thread, uniform points, γ = 2, seconds on sparse and on whole rows.
    """

    min_examples: int = 8192  # 2 features, share 0.007: 4096 rows 0.19 and 0.16; 8192 0.20, 0.19; 32,768 0.25, 0.35
    max_share: float = 0.05  # of the kernel values above gram.near_rows.CUTOFF. 16,384 rows, 2 features, whole rows
    # 0.27 to 0.28: share 0.015 0.23, 0.05 0.25, 0.10 0.27; 6 features: 0.06 0.29, 0.16 0.37
    max_near: float = 0.3  # of the pairs of leaves, in which values may exceed that. All near: 65,536 rows,
    # 10 features, whole rows 0.56: share 0.002 0.47, 0.012 0.57


@dataclass(frozen=True)
class SubspaceSettings:
    """The best function in the span of some landmarks, with the smoothed hinge (Nyström)."""

    min_examples: int = 16384  # with fewer, too few are left for the comparison, and the exact solution is quick
    min_support_vectors: int = 2048  # expected of the exact solution, a problem; with fewer it is as quick
    min_bounded: float = 0.1  # fraction of the sample at the upper bound where labels are noisy
    landmarks: int = 512  # where labels are noisy; candidates for the cheap look at smoothness
    smooth_candidates: int = 2048
    max_smooth_landmarks: int = 1024
    min_early_decay: float = 14.0  # of the residual of 512 candidates, from 256 to 384 landmarks: 22 to 28 on rings,
    # checkers and spirals, 7 to 12 on waves and Forest, for which 1024 landmarks do not suffice
    max_residual: float = 1e-3  # of K(x, x), outside of the subspace, on the average,
    min_decay: float = 16.0  # and so many times less than outside of the subspace of half the landmarks
    min_bounded_any_class: float = 0.01  # of the sample, where the kernel is smooth: spirals 0.003, rings 0.02
    hinge_width: float = 1.0  # of the smoothed corner, for noisy labels. Narrower ones gained nothing in test error
    hinge_widths_spanning: tuple[float, ...] = (0.7, 0.3)  # one after the other, where landmarks span nearly everything
    max_excess: float = 0.08  # of the sample's optimum: what the subspace may cost more
    max_half_loss: float = 0.025  # of the objective: what half of the landmarks may cost more than all of them
    max_half_loss_factor: float = 8.0  # by which max_half_loss may grow where the residual decays
    max_remaining: float = 0.005  # of the objective: what further landmarks would gain, extrapolated
    half_loss_examples: int = 8192  # by which it is estimated
    coefficient_check_examples: int = 2048
    max_coefficient_loss: float = 0.005  # of the objective: what cancelling coefficients may cost
    max_deficit: float = 0.002  # test error: by how much it may be worse than the exact solution of the same part
    comparison_examples: int = 16384
    newton_accuracy: float = 1e-3  # relative gain of a Newton step that ends the method
    coarse_newton_accuracy: float = 1e-2  # the same for all hinge widths but the last
    gap_growth: float = 2.0  # times the gap's growth from the sample to the part: what is expected from there to all
    gap_allowance: float = 0.5  # of the gap of the part: what its extrapolation allows for at least


@dataclass(frozen=True)
class ScreeningSettings:
    """Setting aside examples predicted to have zero dual variables."""

    min_examples: int = 16384  # with fewer, screening costs more than it saves
    min_examples_if_cheap: int = 32768  # the same where kernel values are cheap
    max_support_fraction: float = 0.6  # of the sample; with more support vectors, min_examples counts
    mostly_support_factor: int = 2  # times
    growth: int = 4  # factor by which the examples seen grow from round to round
    margin: float = 1.1  # screening margin: examples beyond it are set aside
    interim_margin: float = 1.2  # screening margin before a round's solution has converged
    interim_gap: float = 0.2  # relative gap at which a round screens its active examples
    min_interim_screened: float = 0.2  # fraction of the active examples, for moving the others to pay
    margin_deviations: float = 1.5  # standard deviations of the change of margins that the screening margin allows for
    watched_examples: int = 512  # whose change of margins is observed
    min_observed: int = 64  # fewer examples do not estimate a deviation
    max_margin: float = 4.0  # above it screening does not pay: all examples are admitted
    rows_per_support_vector: float = 1.5  # that a solution without screening looks at
    max_misjudged: float = 5e-4  # fraction of the examples that are screened and on the wrong side
    max_readmitted: float = 0.25  # fraction of the screened examples; above it all are readmitted
    sketch_residual: float = 0.06  # of the variance that a sketch leaves out,
    sketch_features: float = 0.25  # which pays up to this fraction of the coordinates,
    sketch_deviations: float = 2.0  # standard errors of a sketch that the screening margin allows for
    max_sketch_undecided: float = 0.8  # and as long as it leaves at most this fraction undecided


@dataclass(frozen=True)
class CompressionSettings:
    """Kernel rows in two bytes a value, of points in fewer coordinates."""

    max_residual: float = 2e-4  # of gamma times a squared distance, by the coordinates left out
    max_cost: float = 0.8  # of a row's cost in all coordinates, for fewer of them to pay
    test_examples: int = 512  # by which the error of responses is estimated
    share_of_gap: float = 0.5  # of the gap: what the error of responses may cost


@dataclass(frozen=True)
class AuditSettings:
    """The last look at a model by the kernel itself."""

    share_of_evaluations: float = 0.12  # of the fit's kernel evaluations
    min_evaluations: int = 2**24  # which take some hundredths of a second
    brief_evaluations: int = 2**21  # where time is up
    min_brief: int = 64  # examples looked at then
    min_nearest: int = 1024  # screened examples nearest to the margin that are looked at in any case
    min_others: int = 512
    max_lost_by_rounding: float = 0.5  # of the tolerance; above, rows are computed again without rounding
    min_wrong: int = 3  # of a sample on the wrong side; one or two are chance


@dataclass(frozen=True)
class Settings:
    """All of them."""

    min_examples: int = 8192  # with fewer, the exact solution takes no time worth saving
    min_examples_threaded: int = 4096  # with fewer, the problems of several classes take turns on one thread
    fallback_examples: int = 2048  # by which two models are compared when a budget ends a fit
    sample: SampleSettings = field(default_factory=SampleSettings)
    tolerance: ToleranceSettings = field(default_factory=ToleranceSettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    path: PathSettings = field(default_factory=PathSettings)
    pairs: PairSettings = field(default_factory=PairSettings)
    precision: PrecisionSettings = field(default_factory=PrecisionSettings)
    low_rank: LowRankSettings = field(default_factory=LowRankSettings)
    sparse_kernel: SparseKernelSettings = field(default_factory=SparseKernelSettings)
    near_rows: NearRowsSettings = field(default_factory=NearRowsSettings)
    subspace: SubspaceSettings = field(default_factory=SubspaceSettings)
    screening: ScreeningSettings = field(default_factory=ScreeningSettings)
    compression: CompressionSettings = field(default_factory=CompressionSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
