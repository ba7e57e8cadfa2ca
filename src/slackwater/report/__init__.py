"""A fitted classifier and examples with labels as one HTML page that opens without a network."""

from __future__ import annotations

from slackwater.report.page import write_report

__all__ = ["write_report"]
