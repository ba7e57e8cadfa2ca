"""The methods that the paper compares the Stochastic Batch Perceptron with, on the same loop and the same meter."""

from slackwater.estimators.baselines.descent import NormBallSGDClassifier, PegasosClassifier
from slackwater.estimators.baselines.dual import SDCAClassifier, SMOClassifier
from slackwater.estimators.baselines.fourier import FourierSVC
from slackwater.estimators.baselines.perceptron import KernelPerceptron
from slackwater.estimators.baselines.simba import SIMBAClassifier

__all__ = [
    "FourierSVC",
    "KernelPerceptron",
    "NormBallSGDClassifier",
    "PegasosClassifier",
    "SDCAClassifier",
    "SIMBAClassifier",
    "SMOClassifier",
]
