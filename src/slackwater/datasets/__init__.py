"""The paper's data sets: found on this machine, or downloaded."""

from slackwater.datasets.registry import Dataset, available, load_dataset

__all__ = ["Dataset", "available", "load_dataset"]
