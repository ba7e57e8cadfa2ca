"""The ``slackwater`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; say what to install where its libraries are missing."""
    try:
        from slackwater.cli.main import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:  # while libraries are loaded
        sys.exit(130)
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] not in {"typer", "rich", "matplotlib"}:
            raise
        sys.exit(f"The slackwater command needs {error.name}: pip install 'slackwater[demo]'")
