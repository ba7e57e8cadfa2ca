"""What the paper's experiments were run with: arXiv:1204.0566, Table 2, as data.

The kernel is exp(-‖x - z‖²/(2σ²)); λ is the weight of the regularised form, min λ/2 ‖w‖² + L̂(w), so that C = 1/(λn).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """A half-row of Table 2: one data set, with or without an unregularised bias."""

    data: str
    bias: bool
    sigma2: float
    inverse_lambda: int  # 1/λ in units of n
    nu: float  # as printed

    @property
    def gamma(self) -> float:
        return 1.0 / (2.0 * self.sigma2)

    @property
    def C(self) -> float:  # noqa: N802 - the field's own name
        return float(self.inverse_lambda)

    @property
    def inverse_lambda_text(self) -> str:
        return "n" if self.inverse_lambda == 1 else f"{self.inverse_lambda}n"


TABLE2 = (
    Setting("reuters", False, 0.5, 1, 6.34e-4),
    Setting("adult", False, 10.0, 1, 1.10e-2),
    Setting("mnist", False, 25.0, 1, 2.21e-4),
    Setting("adult", True, 100.0, 100, 5.79e-4),
    Setting("mnist", True, 25.0, 1000, 6.42e-11),
    Setting("forest", True, 5000.0, 10_000, 7.62e-10),
)
PRINTED_SIZES = {  # rows for training and for testing
    "reuters": (7770, 3229),
    "adult": (31562, 16282),
    "mnist": (60000, 10000),
    "forest": (522910, 58102),
}


def setting(data: str, *, bias: bool) -> Setting:
    """The parameters of a data set."""
    found = [each for each in TABLE2 if each.data == data and each.bias == bias]
    if not found:
        known = ", ".join(f"{each.data} {'with' if each.bias else 'without'} bias" for each in TABLE2)
        raise ValueError(f"data and bias must be one of {known}, got {data!r} and {bias}.")
    return found[0]
