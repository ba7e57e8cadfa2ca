"""What scikit-learn's tests find in its own conftest; which of them are run, and which are expected to fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers.exceptions import reason_not_to_hold
from peers.scikit_learn import is_about_svc

THEIRS = [Path(__file__).parent / name for name in ("test_svm.py", "test_sparse.py")]


@pytest.fixture
def global_random_seed():
    """scikit-learn's own default."""
    return 42


def pytest_collection_modifyitems(config, items):
    theirs = [item for item in items if item.path in THEIRS]
    others = {id(item) for item in theirs if not is_about_svc(item)}
    config.hook.pytest_deselected(items=[item for item in theirs if id(item) in others])
    items[:] = [item for item in items if id(item) not in others]
    for item in theirs:
        item.add_marker(pytest.mark.slow)
        # A sigmoid kernel is trained as theirs is; that it has no certificate is said.
        item.add_marker(pytest.mark.filterwarnings("ignore::slackwater.errors.IndefiniteKernelWarning"))
        reason = reason_not_to_hold(item.name)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
