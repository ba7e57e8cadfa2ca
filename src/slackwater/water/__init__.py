"""Water levels: where a given volume of slack, or a given C, puts the margin of a set of responses."""

from __future__ import annotations

from slackwater.water.levels import c_level, c_level_and_bias, level, level_and_bias, volume_below

__all__ = ["c_level", "c_level_and_bias", "level", "level_and_bias", "volume_below"]
