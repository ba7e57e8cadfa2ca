"""``python -m sbp_paper`` is the command ``sbp-paper``."""

from sbp_paper.cli import main

main()
