"""Kernel values of one training set: computed, counted, kept."""

from slackwater.gram.cache import RowCache
from slackwater.gram.direct import DirectRows
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.precomputed import PrecomputedRows
from slackwater.gram.psd import check_positive_semidefinite, smallest_relative_eigenvalue
from slackwater.gram.source import RowSource
from slackwater.gram.storage import RowMemory

__all__ = [
    "DirectRows",
    "EvaluationLedger",
    "PrecomputedRows",
    "RowCache",
    "RowMemory",
    "RowSource",
    "check_positive_semidefinite",
    "smallest_relative_eigenvalue",
]
