"""Choosing C and gamma: the Pareto front of norm and loss, and cross-validation that shares its work."""

from slackwater.path.front import SVMPath, svm_path

__all__ = ["SVMPath", "svm_path"]
