"""What scikit-learn's tests find in its own conftest, and which of them are run."""

from __future__ import annotations

import pytest

from peers.exceptions import reason_for
from peers.scikit_learn import is_about_svc

HERE = __file__.rsplit("/", 1)[0]


@pytest.fixture
def global_random_seed():
    """scikit-learn's own default."""
    return 42


def pytest_collection_modifyitems(config, items):
    ours, others = [], []
    for item in items:
        if str(item.path).startswith(HERE) and not is_about_svc(item):
            others.append(item)
        else:
            ours.append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = ours
    for item in ours:
        if str(item.path).startswith(HERE):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.filterwarnings("ignore::slackwater.errors.IndefiniteKernelWarning"))
            reason = reason_for(item)
            if reason:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
