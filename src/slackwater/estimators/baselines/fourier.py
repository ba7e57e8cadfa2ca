"""Random Fourier features and a linear SVM as an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from slackwater.estimators.documented import Documented
from slackwater.estimators.model_checks import require, require_array, require_classes, require_feature_names
from slackwater.estimators.parameters import COMMON, Rule, check_parameters, positive, whole_from
from slackwater.estimators.portable import StorableClassifier, set_attributes
from slackwater.estimators.validation import check_rows, check_targets, seed_of
from slackwater.examples import distinct_examples
from slackwater.features.fourier import FourierMap
from slackwater.kernels.registry import resolve_gamma
from slackwater.model_io.model import StoredModel
from slackwater.points import as_points


@dataclass(eq=False, repr=False)
class FourierSVC(Documented, StorableClassifier, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""The Gaussian kernel approximated by random Fourier features, and the optimum of the linear SVM over them.

    .. math::
        \min_w\ \tfrac12 \|w\|^2 + C \sum_i \omega_i \max(0,\ 1 - y_i \langle w, P(x_i) \rangle),
        \qquad \langle P(x), P(z) \rangle \approx \exp(-\gamma \|x - z\|^2)

    solved by LIBLINEAR's dual coordinate descent. Not an anytime method: it approximates the kernel, once, and then the
    optimum of another problem is found. There is no bias (LIBLINEAR would regularise it), as in the paper's comparison.

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
        Of LIBLINEAR.
    max_iter : int, default=10000
        Passes of LIBLINEAR; it warns when they do not suffice.
    random_state : int, RandomState or None, default=None
        Of the directions, and of the order in which LIBLINEAR visits the examples. None means 0: unseeded fits are
        identical.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, 2 n_pairs)
        Weights of the Fourier features.
    intercept_ : ndarray of zeros
    n_inner_products_ : int
        n_pairs times the number of distinct training rows; comparable to ``n_kernel_evals_`` of the kernel methods,
        since a Gaussian kernel value costs one inner product, too.
    n_iter_ : int
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
    random_state: Any = None

    kernel: ClassVar[str] = "rbf"
    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": positive("It is what a unit of hinge loss costs."),
        "n_pairs": whole_from(1, "It is the number of random directions; each gives two features."),
        "gamma": COMMON["gamma"],
        "class_weight": COMMON["class_weight"],
        "tol": positive("It is LIBLINEAR's tolerance."),
        "max_iter": whole_from(1, "It limits the passes of LIBLINEAR."),
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
        """
        check_parameters(self, self._rules)
        X = check_rows(self, X, reset=True)
        targets = check_targets(y, X.shape[0], sample_weight, self.class_weight)
        points = as_points(X)
        distinct = distinct_examples(points, targets.codes, targets.weights)
        gamma = resolve_gamma(self.gamma, points)
        seed = seed_of(self.random_state)
        self._map: Any = FourierMap.drawn(X.shape[1], self.n_pairs, gamma, np.random.default_rng(seed))
        order = distinct.kept[distinct.order]  # by content: the model does not depend on the order of the rows
        linear = LinearSVC(
            C=self.C,
            loss="hinge",
            dual=True,
            fit_intercept=False,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=seed,
        )
        linear.fit(self._map.transform(X[order]), targets.codes[order], distinct.weights[distinct.order])
        self.classes_ = targets.classes
        self.coef_ = np.ascontiguousarray(linear.coef_)  # as it is read from a file: products are rounded alike
        self.intercept_ = np.zeros(len(self.coef_))
        self.n_iter_ = int(linear.n_iter_)
        self.n_inner_products_ = self.n_pairs * len(order)
        return self

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
