"""Kernel support vector machines by the Stochastic Batch Perceptron (arXiv:1204.0566)."""

__version__ = "0.1.0"
