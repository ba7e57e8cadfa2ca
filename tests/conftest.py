"""Settings for all tests."""

import signal

import numpy as np
import pytest
from hypothesis import settings

# The first call of a compiled loop compiles it, which no deadline for a single example allows for.
settings.register_profile("slackwater", deadline=None)
settings.load_profile("slackwater")


@pytest.fixture(autouse=True)
def same_chance_every_time():
    """An estimator without random_state asks NumPy's generator; each test finds that in the same state."""
    np.random.seed(0)  # noqa: NPY002 - the very generator that scikit-learn falls back on


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_is_heard():
    """A shell has its background jobs ignore SIGINT, and Python then does: fits that Ctrl-C is to end would not."""
    inherited = signal.getsignal(signal.SIGINT)
    if inherited is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, inherited)
