"""The experiments of arXiv:1204.0566, from the real data to stored tables; ``sbp_paper.report`` draws from those."""
