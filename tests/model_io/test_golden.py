"""Files of every format version so far: each later version of the library reads them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from model_io.make_golden import product_plus_one, rows
from slackwater import load
from slackwater.model_io.stored import VERSION

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("v*.npz"))


def test_every_version_has_golden_files():
    versions = {path.name.split("_")[0] for path in FILES}
    assert versions == {f"v{number}" for number in range(1, VERSION + 1)}
    assert sum(path.stat().st_size for path in GOLDEN.iterdir()) < 20_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_predicts_as_it_always_did(path):
    version, name = path.stem.split("_", 1)
    expected = json.loads((GOLDEN / f"{version}_expected.json").read_text())[name]
    model = load(path, kernel=product_plus_one if "custom" in name else None)
    X = rows(5) if model.n_features_in_ == 2 else rows(5) @ rows().T
    if hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=["east", "north"])
    np.testing.assert_allclose(model.decision_function(X), expected["values"], rtol=1e-6, atol=1e-6)
    assert model.predict(X).tolist() == expected["labels"]


# of which the expected values, never written again, say nothing: reason to stop, steps
ACCOUNTS = {
    "v1_fourier": (None, [26]),
    "v1_sbp_precomputed": ("tol", [16]),
    "v1_svc_custom_kernel": ("tol", [1]),
    "v1_svc_one_vs_one_sparse_poly": ("tol", [1]),
    "v1_svc_one_vs_rest_laplacian_float32": ("tol", [3]),
    "v1_svc_two_classes_names": ("tol", [2]),
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_tells_of_its_fit_what_it_always_did(path):
    model = load(path, kernel=product_plus_one if "custom" in path.stem else None)
    assert (getattr(model, "stop_reason_", None), np.ravel(model.n_iter_).tolist()) == ACCOUNTS[path.stem]
