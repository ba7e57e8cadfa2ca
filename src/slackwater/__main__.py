"""``python -m slackwater``: the command."""

from slackwater.cli import main

main()
