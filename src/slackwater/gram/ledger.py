"""The meter: how many kernel values were computed, and for what."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

ACCOUNTS = ("train", "score", "check")


class EvaluationLedger:
    """Count kernel evaluations in three accounts.

    "train" is what a method pays to learn, the paper's currency; "score" is spent on looking at the
    model while it learns, and on prediction; "check" on tests of the kernel itself.

    Parameters
    ----------
    limit : int, optional
        Most evaluations the train account should reach. The ledger does not enforce it, for a row cannot be
        computed by half: stopping rules and caches read ``remaining`` and act.
    """

    def __init__(self, limit: int | None = None) -> None:
        if limit is not None and limit < 0:
            raise ValueError(f"limit must be >= 0 or None, got {limit}. None means no limit.")
        self.limit = limit
        self.totals: dict[str, int] = dict.fromkeys(ACCOUNTS, 0)
        self._lock = threading.Lock()
        self.account = "train"  # where the sources' charges go

    def charge(self, account: str, count: int) -> None:
        """Add ``count`` evaluations to an account."""
        self._require_known(account)
        if count < 0:
            raise ValueError(f"count must be >= 0, got {count}. Evaluations cannot be returned.")
        with self._lock:  # problems side by side are charged by several threads
            self.totals[account] += int(count)

    @contextmanager
    def charging(self, account: str) -> Iterator[None]:
        """Let everything computed inside the ``with`` block be charged to ``account``."""
        self._require_known(account)
        previous, self.account = self.account, account
        try:
            yield
        finally:
            self.account = previous

    @property
    def train(self) -> int:
        """Evaluations paid for learning."""
        return self.totals["train"]

    @property
    def score(self) -> int:
        """Evaluations paid for looking at the model."""
        return self.totals["score"]

    @property
    def check(self) -> int:
        """Evaluations paid for testing the kernel."""
        return self.totals["check"]

    @property
    def remaining(self) -> int | None:
        """Evaluations left in the train account, never below 0; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self.train)

    @property
    def total(self) -> int:
        """Evaluations of all accounts together."""
        return sum(self.totals.values())

    @staticmethod
    def _require_known(account: str) -> None:
        if account not in ACCOUNTS:
            raise ValueError(f"account must be one of {', '.join(ACCOUNTS)}, got {account!r}.")
