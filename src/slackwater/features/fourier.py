r"""Random Fourier features of the Gaussian kernel (Rahimi, Recht 2007; arXiv:1204.0566, Appendix A).

With v_1, …, v_k drawn from N(0, I) and the kernel exp(-γ ‖x - z‖²), γ = 1/(2σ²), the map

.. math:: P(x)_{2i} = \tfrac{1}{\sqrt k} \cos(\tfrac1\sigma \langle v_i, x\rangle), \qquad
          P(x)_{2i+1} = \tfrac{1}{\sqrt k} \sin(\tfrac1\sigma \langle v_i, x\rangle)

has inner products <P(x), P(z)> that approach K(x, z) as 1/√k. Each pair of features costs one inner product of d
values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.points import Floats


@dataclass(frozen=True)
class FourierMap:
    """x to 2k features; ``frequencies`` is d × k, the directions v_i divided by σ."""

    frequencies: NDArray[np.float64]

    @staticmethod
    def drawn(n_features: int, pairs: int, gamma: float, rng: np.random.Generator) -> FourierMap:
        """Draw k directions for the kernel exp(-gamma ‖x - z‖²)."""
        return FourierMap(math.sqrt(2.0 * gamma) * rng.standard_normal((n_features, pairs)))

    @property
    def pairs(self) -> int:
        return int(self.frequencies.shape[1])

    def transform(self, X: Any) -> Floats:
        """Map n rows, dense or sparse, to n × 2k features, in the type of X; costs k·n inner products."""
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        angles = np.asarray(X @ self.frequencies.astype(dtype))
        features = np.empty((angles.shape[0], 2 * self.pairs), dtype=dtype)
        features[:, 0::2] = np.cos(angles)
        features[:, 1::2] = np.sin(angles)
        features /= dtype.type(math.sqrt(self.pairs))
        return features
