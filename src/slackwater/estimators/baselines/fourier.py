"""Random Fourier features and a linear SVM as an estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from slackwater.deadline import INTERRUPTS, Clock, CutShort, Deadline, working_until
from slackwater.errors import ConvergenceWarning, warn
from slackwater.estimators.documented import Documented
from slackwater.estimators.model_checks import require, require_array, require_classes, require_feature_names
from slackwater.estimators.outcome import REMEDIES
from slackwater.estimators.parameters import COMMON, Rule, check_parameters, positive, whole_from
from slackwater.estimators.portable import StorableClassifier, set_attributes
from slackwater.estimators.validation import Targets, check_rows, check_targets, seed_of
from slackwater.examples import distinct_examples
from slackwater.features.fourier import FourierMap
from slackwater.fitting.fourier import FourierDescent
from slackwater.kernels.registry import resolve_gamma
from slackwater.model_io.model import StoredModel
from slackwater.points import as_points
from slackwater.progress import Forecast, ProgressLine
from slackwater.stopping import StopReason, reason_of_cut

_MEAN_ROWS = 512  # from which the means of the classes are computed


@dataclass(eq=False, repr=False)
class FourierSVC(Documented, StorableClassifier, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""The Gaussian kernel approximated by random Fourier features, and the optimum of the linear SVM over them.

    .. math::
        \min_w\ \tfrac12 \|w\|^2 + C \sum_i \omega_i \max(0,\ 1 - y_i \langle w, P(x_i) \rangle),
        \qquad \langle P(x), P(z) \rangle \approx \exp(-\gamma \|x - z\|^2)

    solved by dual coordinate descent, as in LIBLINEAR. It approximates the kernel, once, and then finds the optimum of
    another problem, over rows in random order as their features are computed: there is a model from the first 512 rows
    on. There is no bias (LIBLINEAR would regularise it), as in the paper's comparison.

    **The cost** is that of the features, one inner product of d values for each pair of them and example, as in the
    paper; that of the linear problem, which is small beside it, is not counted.

    Parameters
    ----------
    C : float, default=1.0
        What a unit of hinge loss costs.
    n_pairs : int, default=256
        k: random directions, each of which gives a cosine and a sine, so 2k features.
    gamma : {"scale", "auto"} or float, default="scale"
        Of the Gaussian kernel: 1/(2σ²).
    class_weight : dict or "balanced", optional
        Multiplies the sample weights of each class.
    tol : float, default=1e-4
        By how much projected gradients of the dual may differ at the end: LIBLINEAR's tolerance.
    max_iter : int, default=10000
        Passes over the examples at most.
    max_time : float, optional
        Stop after this many seconds, with the model reached; so does Ctrl-C.
    verbose : int, default=0
        1 shows a line of progress in a terminal or a notebook.
    random_state : int, RandomState or None, default=None
        Of the directions, and of the order in which examples are visited. None means 0: unseeded fits are identical.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, 2 n_pairs)
        Weights of the Fourier features.
    intercept_ : ndarray of zeros
    n_inner_products_ : int
        n_pairs times the number of distinct training rows that were looked at; comparable to ``n_kernel_evals_`` of the
        kernel methods, since a Gaussian kernel value costs one inner product, too.
    n_iter_ : int
        Passes over the examples.
    stop_reason_ : str
        "tol", "max_iter", "max_time" or "interrupted".
    classes_, n_features_in_

    References
    ----------
    A. Rahimi, B. Recht: Random Features for Large-Scale Kernel Machines. NIPS 2007. arXiv:1204.0566, Appendix A.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater.baselines import FourierSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = FourierSVC(C=1.0, gamma=2.0, n_pairs=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.n_inner_products_
    (True, 20000)
    """

    C: float = 1.0
    _: KW_ONLY
    n_pairs: int = 256
    gamma: Any = "scale"
    class_weight: Any = None
    tol: float = 1e-4
    max_iter: int = 10_000
    max_time: float | None = None
    verbose: int = 0
    random_state: Any = None

    kernel: ClassVar[str] = "rbf"
    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": positive("It is what a unit of hinge loss costs."),
        "n_pairs": whole_from(1, "It is the number of random directions; each gives two features."),
        "gamma": COMMON["gamma"],
        "class_weight": COMMON["class_weight"],
        "tol": positive("It is by how much projected gradients may differ at the end."),
        "max_iter": whole_from(1, "It limits the passes over the examples."),
        "max_time": COMMON["max_time"],
        "verbose": COMMON["verbose"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FourierSVC:
        """Draw the features of X and solve the linear problem over them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n,), optional
            What each row's slack costs; an integer weight is the same as repeating the row, 0 leaves it out.

        Returns
        -------
        self

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C. The model reached is kept: ``stop_reason_`` "interrupted".
        """
        check_parameters(self, self._rules)
        deadline = Deadline(Clock(), math.inf if self.max_time is None else float(self.max_time))
        with INTERRUPTS.raising(deadline.interrupted):
            X = check_rows(self, X, reset=True)
            targets = check_targets(y, X.shape[0], sample_weight, self.class_weight)
            rng = np.random.default_rng(seed_of(self.random_state))
            gamma = resolve_gamma(self.gamma, as_points(X))
            self._map: Any = FourierMap.drawn(X.shape[1], self.n_pairs, gamma, rng)
            try:
                with working_until(deadline):
                    descent = self._begun(X, targets, rng)
                    descent.begin()
            except CutShort as cut:
                descent, reason = self._of_some(X, targets, rng), reason_of_cut(cut)
                models = descent.class_means()
            else:
                reason = self._finished(descent, deadline, rng)
                models = descent.models()
        self._keep(targets, descent, models, reason)
        if deadline.interrupted.is_set():
            raise KeyboardInterrupt(f"the model reached is kept and usable (stop_reason_ is {self.stop_reason_!r}).")
        if reason in REMEDIES:
            warn(
                f"training stopped ({reason}) before the linear problem was solved to tol={self.tol:g}. The model is "
                f"usable; for a better one {REMEDIES[reason]}, or raise tol to accept this one.",
                ConvergenceWarning,
            )
        return self

    def _begun(self, X: Any, targets: Targets, rng: np.random.Generator) -> FourierDescent:
        """The distinct examples in an order that is drawn by their content, not by that of the rows."""
        distinct = distinct_examples(as_points(X), targets.codes, targets.weights)
        drawn = distinct.order[rng.permutation(len(distinct.order))]
        rows = distinct.kept[drawn]
        return FourierDescent(
            self._map, X, rows, targets.codes[rows], self.C * distinct.weights[drawn], len(targets.classes)
        )

    def _of_some(self, X: Any, targets: Targets, rng: np.random.Generator) -> FourierDescent:
        """A few rows of each class, for a model where there is no time for training."""
        shuffled = rng.permutation(np.flatnonzero(targets.weights > 0.0))
        most = max(_MEAN_ROWS // len(targets.classes), 1)
        groups = [shuffled[targets.codes[shuffled] == code][:most] for code in range(len(targets.classes))]
        rows = np.concatenate(groups)
        return FourierDescent(
            self._map, X, rows, targets.codes[rows], self.C * targets.weights[rows], len(targets.classes)
        )

    def _finished(self, descent: FourierDescent, deadline: Deadline, rng: np.random.Generator) -> StopReason:
        """Train until the problem is solved or the time is over, with a line of progress if one is wanted."""
        line = None
        if self.verbose:
            line = ProgressLine(None, Forecast(self.max_time, None, int(self.max_iter)), self.verbose > 1)
        try:
            with working_until(deadline):
                return descent.finish(float(self.tol), int(self.max_iter), rng, deadline.clock, line)
        except CutShort as cut:
            return reason_of_cut(cut)
        finally:
            if line is not None:
                line.done()

    def _keep(self, targets: Targets, descent: FourierDescent, models: NDArray[np.float64], reason: StopReason) -> None:
        self.classes_ = targets.classes
        self.coef_ = models
        self.intercept_ = np.zeros(len(self.coef_))
        self.n_iter_ = descent.passes
        self.n_inner_products_ = self.n_pairs * descent.known
        self.stop_reason_ = str(reason)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Values of the decision function: (m,) for two classes, else (m, n_classes)."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        values = np.asarray(self._map.transform(X) @ self.coef_.T, dtype=np.float64)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row of X."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _internals(self) -> dict[str, Any]:
        return {"frequencies": self._map.frequencies}

    def _restore(self, model: StoredModel, kernel: Any) -> None:
        self._map = FourierMap(model.internals.get("frequencies"))  # type: ignore[arg-type]
        set_attributes(self, model.attributes)
        n_classes = require_classes(self)
        number = getattr(self, "n_features_in_", None)
        require(type(number) is int, f"n_features_in_ must be a whole number, got {str(number)[:60]}")
        frequencies = require_array(self._map, "frequencies", "f", (number, -1))  # type: ignore[arg-type]
        require(frequencies.shape[1] > 0, "frequencies must be those of one pair of features or more")
        functions = 1 if n_classes == 2 else n_classes
        require_array(self, "coef_", "f", (functions, 2 * frequencies.shape[1]))
        require_array(self, "intercept_", "f", (functions,))
        require_feature_names(self)
