"""Choosing C and gamma: the Pareto front of norm and loss, and cross-validation that shares its work."""

from slackwater.path.front import SVMPath, svm_path
from slackwater.path.search import SVCCV

__all__ = ["SVCCV", "SVMPath", "svm_path"]
