"""What the driver and the shards tell each other in a round. None of it grows with the number of examples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.gram.source import IndexArray
from slackwater.shards.form import Packed
from slackwater.water._scan_loops import Basin

Doubles = NDArray[np.float64]
Ids = NDArray[np.int64]
Window = tuple[float, float]
Windows = tuple[Window, Window]  # of responses, for each class: where its level is expected
EVERYTHING: Window = (-np.inf, np.inf)


class Move(NamedTuple):
    """How the coefficients of one problem change."""

    problem: int
    places: IndexArray  # among the rows of the request
    amounts: Doubles  # changes of the signed coefficients, y_i Δα_i
    own: IndexArray  # the shard's own examples among those that move
    alpha: Doubles  # what their coefficients are from now on


class Query(NamedTuple):
    """What the driver wants to know about one problem."""

    problem: int
    offers: int  # examples to offer for the next block, at most
    turn: float  # those with larger lots have not had their turn; infinite: the worst violators are wanted
    centre: float  # the bias of the dual point, about
    windows: Windows | None  # None: the level is not asked for
    wanted: IndexArray  # the shard's own examples whose responses are wanted


class Request(NamedTuple):
    """One round, to one shard."""

    step: int  # the number of rounds with this one; a shard that has made it already does not make it again
    numbers: IndexArray  # of the rows that move, counted since the fit began
    transient: NDArray[np.bool_]  # which of them are not expected to move again
    rows: Packed | None
    moves: list[Move]
    queries: list[Query]


class Offers(NamedTuple):
    """Examples for the next block."""

    numbers: IndexArray  # in the shard
    labels: NDArray[np.int8]
    alpha: Doubles
    upper: Doubles
    lots: Doubles
    responses: Doubles
    in_turn: int  # the first so many are next in turn; others are of the class that is rare among them
    more: bool  # whether the shard has further ones
    rows: Packed


class Report(NamedTuple):
    """What a shard knows about one problem."""

    coefficient_sum: float  # Σ α_i
    squared_norm: float  # Σ α_i c_i, its share of ‖w‖²
    top: float  # the largest wish to rise, the largest to fall: as biases where there is one
    bottom: float
    basins: tuple[Basin, Basin] | None  # of the positive and the negative examples, through the windows
    exact: tuple[bool, bool]  # whether each basin holds every point of its window, not strata of them
    wanted: Doubles
    offers: Offers | None


class Reply(NamedTuple):
    """What a shard answers."""

    step: int
    evaluations: int  # kernel values computed for this round
    reports: list[Report]
