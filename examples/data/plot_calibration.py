"""
Probabilities by calibration
============================

Decision values order examples; ``CalibratedClassifierCV`` of scikit-learn turns them into probabilities. The curve
compares what was predicted with what happened, for odd and even handwritten digits of which a tenth of the labels is
wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import load_digits
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split

from slackwater import SVC

images, digit = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
label = (digit % 2) ^ (rng.random(len(digit)) < 0.1)
X_train, X_test, y_train, y_test = train_test_split(images / 16, label, test_size=0.5, random_state=0)
values = SVC(C=1, gamma=0.1).fit(X_train, y_train).decision_function(X_test)
calibrated = CalibratedClassifierCV(SVC(C=1, gamma=0.1), ensemble=False).fit(X_train, y_train)

# %%
squeezed = (values - values.min()) / (values.max() - values.min())
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for probability, name, colour in (
    (squeezed, "decision values, squeezed", "#e8590c"),
    (calibrated.predict_proba(X_test)[:, 1], "calibrated", "#0b7285"),
):
    brier = brier_score_loss(y_test, probability)
    CalibrationDisplay.from_predictions(
        y_test, probability, n_bins=8, strategy="quantile", ax=left, color=colour, name=f"{name} (Brier {brier:.3f})"
    )
    right.hist(probability, bins=30, histtype="step", linewidth=2, color=colour, label=name)
left.set(xlabel="predicted", ylabel="share that is odd")
right.set(xlabel="predicted", ylabel="test examples")
right.legend()
plt.show()
