"""Training on a cluster: ``slackwater.dask.SVC``, over Dask's ``distributed``.

A model that was trained here is an ordinary fitted estimator: importing, loading and predicting need no Dask.
"""

from slackwater.dask.estimator import SVC

__all__ = ["SVC"]
