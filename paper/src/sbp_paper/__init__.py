"""The experiments of arXiv:1204.0566 with slackwater's public estimators, and the page that shows them."""
