"""What people do with a classifier in scikit-learn: each use takes the class of SVC and data, and returns a result.

Results are labels, numbers that do not depend on the last digits of a model, or a ``Share`` of labels that are right.
"""

from __future__ import annotations

import io
import pickle

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - importing it is what enables it
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import DecisionBoundaryDisplay, partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, matthews_corrcoef
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

C_VALUES = [0.1, 1.0, 10.0]


class Share(float):
    """Of the labels that are right: more is as good."""


def scaled(SVC, **parameters):
    return make_pipeline(MaxAbsScaler(), SVC(**parameters))


def codes_of(y):
    return np.unique(np.asarray(y), return_inverse=True)[1]


def two_targets(y):
    codes = codes_of(y)
    return np.column_stack([codes == 0, codes == codes.max()]).astype(int)


def positive_of(y):
    return np.unique(np.asarray(y))[1]


def on_two_columns(X):
    return np.asarray(X)[:, :2]


def half_unlabelled(y):
    return np.where(np.arange(len(y)) % 2, codes_of(y), -1)


def through_bytes(model, dump, load):
    buffer = io.BytesIO()
    dump(model, buffer)
    buffer.seek(0)
    return load(buffer)


def selected(selector, X, y):
    return selector.fit(X, y).get_support().astype(float)


EVERYWHERE = {
    "fit and predict": lambda S, X, y: S().fit(X, y).predict(X),
    "pipeline": lambda S, X, y: scaled(S).fit(X, y).predict(X),
    "clone": lambda S, X, y: clone(S(C=3.0, class_weight="balanced")).fit(X, y).predict(X),
    "pickle": lambda S, X, y: pickle.loads(pickle.dumps(S().fit(X, y))).predict(X),
    "joblib": lambda S, X, y: through_bytes(S().fit(X, y), joblib.dump, joblib.load).predict(X),
    "frozen": lambda S, X, y: FrozenEstimator(S().fit(X, y)).fit(X, y).predict(X),
    "grid search": lambda S, X, y: GridSearchCV(scaled(S), {"svc__C": C_VALUES}, cv=3).fit(X, y).best_score_,
    "grid of kernels": lambda S, X, y: GridSearchCV(S(), {"kernel": ["linear", "rbf"]}, cv=3).fit(X, y).best_score_,
    "random search": lambda S, X, y: RandomizedSearchCV(S(), {"C": C_VALUES}, n_iter=2, cv=3, random_state=0)
    .fit(X, y)
    .best_score_,
    "halving search": lambda S, X, y: HalvingGridSearchCV(S(), {"C": C_VALUES}, cv=3, random_state=0)
    .fit(X, y)
    .best_score_,
    "bagging": lambda S, X, y: BaggingClassifier(S(), 5, random_state=0).fit(X, y).predict(X),
    "bagging of features": lambda S, X, y: BaggingClassifier(S(), 5, max_features=4, random_state=0)
    .fit(X, y)
    .predict(X),
    "boosting": lambda S, X, y: Share(
        AdaBoostClassifier(S(C=0.5), n_estimators=5, random_state=0).fit(X, y).score(X, y)
    ),
    "hard voting": lambda S, X, y: VotingClassifier([("a", S()), ("b", S(kernel="linear"))]).fit(X, y).predict(X),
    "soft voting": lambda S, X, y: VotingClassifier(
        [("a", S(probability=True, random_state=0)), ("b", LogisticRegression())], voting="soft"
    )
    .fit(X, y)
    .predict(X),
    "stacking": lambda S, X, y: StackingClassifier([("a", S()), ("b", LogisticRegression())], cv=3)
    .fit(X, y)
    .predict(X),
    "calibration": lambda S, X, y: CalibratedClassifierCV(S(), ensemble=False, cv=3).fit(X, y).predict_proba(X),
    "isotonic calibration": lambda S, X, y: CalibratedClassifierCV(S(), method="isotonic", cv=3).fit(X, y).predict(X),
    "probabilities": lambda S, X, y: S(probability=True, random_state=0).fit(X, y).predict_proba(X).argmax(axis=1),
    "one against the rest": lambda S, X, y: OneVsRestClassifier(S()).fit(X, y).predict(X),
    "one against one": lambda S, X, y: OneVsOneClassifier(S()).fit(X, y).predict(X),
    "output code": lambda S, X, y: OutputCodeClassifier(S(), random_state=0).fit(X, y).predict(X),
    "several outputs": lambda S, X, y: MultiOutputClassifier(S()).fit(X, two_targets(y)).predict(X),
    "chain": lambda S, X, y: ClassifierChain(S()).fit(X, two_targets(y)).predict(X),
    "elimination": lambda S, X, y: selected(RFE(S(kernel="linear"), n_features_to_select=3), X, y),
    "elimination by folds": lambda S, X, y: RFECV(S(kernel="linear"), cv=3).fit(X, y).predict(X),
    "selection by weight": lambda S, X, y: selected(SelectFromModel(S(kernel="linear")), X, y),
    "self-training": lambda S, X, y: Share(
        SelfTrainingClassifier(S(probability=True, random_state=0)).fit(X, half_unlabelled(y)).score(X, codes_of(y))
    ),
    "folds": lambda S, X, y: np.mean(cross_val_score(S(), X, y, cv=3)),
    "folds by several scores": lambda S, X, y: np.mean(
        cross_validate(S(), X, y, cv=3, scoring=["accuracy", "f1_macro"])["test_f1_macro"]
    ),
    "predictions by folds": lambda S, X, y: cross_val_predict(S(), X, y, cv=3),
    "decision values by folds": lambda S, X, y: cross_val_predict(S(), X, y, cv=3, method="decision_function"),
    "probabilities by folds": lambda S, X, y: cross_val_predict(
        S(probability=True, random_state=0), X, y, cv=3, method="predict_proba"
    ).argmax(axis=1),
    "logarithms by folds": lambda S, X, y: cross_val_predict(
        S(probability=True, random_state=0), X, y, cv=3, method="predict_log_proba"
    ).argmax(axis=1),
    "a score of one's own": lambda S, X, y: np.mean(
        cross_val_score(S(), X, y, cv=3, scoring=make_scorer(matthews_corrcoef))
    ),
    "learning curve": lambda S, X, y: learning_curve(S(), X, y, cv=3, train_sizes=[0.5, 1.0])[2].mean(),
    "validation curve": lambda S, X, y: validation_curve(
        S(), X, y, param_name="C", param_range=C_VALUES, cv=3
    )[1].mean(axis=1),
}  # fmt: skip

DENSE = {
    "standard scaler": lambda S, X, y: make_pipeline(StandardScaler(), S()).fit(X, y).predict(X),
    "forward selection": lambda S, X, y: SequentialFeatureSelector(S(), n_features_to_select=2, cv=3)
    .fit(X, y)
    .get_support()
    .sum(),
    "permutation importance": lambda S, X, y: permutation_importance(
        S().fit(X, y), X, y, n_repeats=3, random_state=0
    ).importances_mean,
    "decision boundary": lambda S, X, y: DecisionBoundaryDisplay.from_estimator(
        S().fit(on_two_columns(X), y), on_two_columns(X), response_method="predict", grid_resolution=20
    ).response,
}  # fmt: skip

TWO_CLASSES = {
    "tuned threshold": lambda S, X, y: TunedThresholdClassifierCV(S(), cv=3).fit(X, y).predict(X),
    "fixed threshold": lambda S, X, y: FixedThresholdClassifier(S(), threshold=0.2, pos_label=positive_of(y))
    .fit(X, y)
    .predict(X),
    "partial dependence": lambda S, X, y: partial_dependence(S().fit(X, y), X, [0], grid_resolution=10)["average"],
    "calibration curve": lambda S, X, y: CalibrationDisplay.from_estimator(
        S(probability=True, random_state=0).fit(X, y), X, y, n_bins=3, pos_label=positive_of(y)
    ).brier_score
    if hasattr(CalibrationDisplay, "brier_score")
    else S().fit(X, y).score(X, y),
}  # fmt: skip

FRAMES = {
    "columns of a frame": lambda S, X, y: make_pipeline(
        make_column_transformer((StandardScaler(), list(X.columns[:3])), remainder="passthrough"), S()
    )
    .fit(X, y)
    .predict(X),
    "pandas output": lambda S, X, y: make_pipeline(StandardScaler().set_output(transform="pandas"), S())
    .fit(X, y)
    .predict(X),
}  # fmt: skip
