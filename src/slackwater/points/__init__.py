"""The data in the form that is quickest to multiply: dense, sparse, on a grid, projected, quantised."""

from slackwater.points.base import Floats, Indices, ObjectPoints, Points, Vectors
from slackwater.points.convert import as_points, in_double, quicker_form
from slackwater.points.dense import DensePoints
from slackwater.points.grid import Grid, GridPoints, on_grid
from slackwater.points.norms import SquaredNorms
from slackwater.points.sparse import Columns, SparsePoints

__all__ = [
    "Columns",
    "DensePoints",
    "Floats",
    "Grid",
    "GridPoints",
    "Indices",
    "ObjectPoints",
    "Points",
    "SparsePoints",
    "SquaredNorms",
    "Vectors",
    "as_points",
    "in_double",
    "on_grid",
    "quicker_form",
]
