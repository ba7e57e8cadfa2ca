"""The estimators of ``slackwater.baselines``: the methods that the paper compares with."""
