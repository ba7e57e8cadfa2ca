"""Write the golden files of a format version: once, when the version is made. They are never written again.

python tests/model_io/make_golden.py 1
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from slackwater import SVC, SBPClassifier
from slackwater.baselines import FourierSVC

FOLDER = Path(__file__).parent / "golden"


def product_plus_one(A, B):
    """The custom kernel of a golden file."""
    return np.asarray(A) @ np.asarray(B).T + 1.0


def rows(n: int = 10) -> np.ndarray:
    """Rows that no generator has to make: the same for ever."""
    angles = np.arange(n) * 2.399963229728653  # the golden angle
    return np.round(np.stack([np.cos(angles), np.sin(angles)], axis=1) * (1.0 + np.arange(n)[:, None] / n), 3)


def models() -> dict[str, object]:
    X = rows()
    three = np.arange(len(X)) % 3
    frame = pd.DataFrame(X, columns=["east", "north"])
    thin = sparse.csr_matrix(np.where(np.abs(X) > 0.4, X, 0.0))
    return {
        "svc_two_classes_names": SVC(gamma=1.0, tol=1e-3).fit(
            frame, np.array(["flood", "ebb"])[(X[:, 0] > 0).astype(int)]
        ),
        "svc_one_vs_one_sparse_poly": SVC(kernel="poly", gamma=1.0, coef0=1.0, degree=2).fit(thin, three * 10),
        "svc_one_vs_rest_laplacian_float32": SVC(kernel="laplacian", gamma=0.5, multi_class="ovr").fit(
            X.astype(np.float32), three
        ),
        "svc_custom_kernel": SVC(kernel=product_plus_one).fit(X, X[:, 1] > 0),
        "sbp_precomputed": SBPClassifier(nu=0.1, tol=0.5, kernel="precomputed").fit(X @ X.T, (X[:, 0] > 0).astype(int)),
        "fourier": FourierSVC(gamma=0.5, n_pairs=4, random_state=0).fit(X, three),
    }


def main() -> None:
    version = sys.argv[1]
    FOLDER.mkdir(exist_ok=True)
    expected = {}
    for name, model in models().items():
        path = FOLDER / f"v{version}_{name}.npz"
        if path.exists():
            sys.exit(f"{path} exists: golden files are never written again")
        model.save(path)
        X = rows(5) if model.n_features_in_ == 2 else rows(5) @ rows().T
        if hasattr(model, "feature_names_in_"):
            X = pd.DataFrame(X, columns=model.feature_names_in_)
        expected[name] = {"values": model.decision_function(X).tolist(), "labels": model.predict(X).tolist()}
    (FOLDER / f"v{version}_expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
