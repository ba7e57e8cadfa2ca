"""The dual over parts of the data that are kept apart: what each part does, and what is left to whoever drives them.

Nothing here knows how messages travel: ``slackwater.dask`` sends them to workers, tests call shards directly.
"""
