"""Kernels K(x, z) as mathematics: formulas over points, without data set, cache or counter.

To users ``Kernel`` is promised, as a base class for kernels of their own; the other names serve the packages above.
"""

from slackwater.kernels.base import Kernel
from slackwater.kernels.blocks import block
from slackwater.kernels.custom import Custom
from slackwater.kernels.dot import Linear, Polynomial, Sigmoid
from slackwater.kernels.gaussian import Gaussian
from slackwater.kernels.laplacian import Laplacian
from slackwater.kernels.registry import KERNELS, make_kernel, resolve_gamma
from slackwater.points import Points, as_points

__all__ = [
    "KERNELS",
    "Custom",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Points",
    "Polynomial",
    "Sigmoid",
    "as_points",
    "block",
    "make_kernel",
    "resolve_gamma",
]
