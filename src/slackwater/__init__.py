"""Kernel support vector machines by the Stochastic Batch Perceptron (arXiv:1204.0566)."""

from slackwater.estimators.sbp import SBPClassifier

__all__ = ["SBPClassifier", "__version__"]
__version__ = "0.1.0"
