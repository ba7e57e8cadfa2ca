"""The methods that the paper compares the Stochastic Batch Perceptron with, on the same loop and the same meter."""

from slackwater.estimators.baselines import (
    FourierSVC,
    KernelPerceptron,
    NormBallSGDClassifier,
    PegasosClassifier,
    SDCAClassifier,
    SIMBAClassifier,
    SMOClassifier,
)

__all__ = [
    "FourierSVC",
    "KernelPerceptron",
    "NormBallSGDClassifier",
    "PegasosClassifier",
    "SDCAClassifier",
    "SIMBAClassifier",
    "SMOClassifier",
]
