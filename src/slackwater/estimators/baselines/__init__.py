"""The methods that the paper compares the Stochastic Batch Perceptron with, as estimators (``slackwater.baselines``)."""
