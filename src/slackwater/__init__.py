"""Kernel support vector machines by the Stochastic Batch Perceptron (arXiv:1204.0566)."""

from slackwater.estimators.loading import load
from slackwater.estimators.sbp import SBPClassifier
from slackwater.estimators.svc import SVC

__all__ = ["SVC", "SBPClassifier", "__version__", "load"]
__version__ = "0.2.0"
