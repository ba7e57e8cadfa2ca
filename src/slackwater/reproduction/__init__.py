"""The experiments of arXiv:1204.0566, from the real data to stored tables; ``slackwater.report`` draws from those."""
