"""Names, colours and number formats of the page."""

from __future__ import annotations

DATA_NAMES = {"reuters": "Reuters", "adult": "Adult", "mnist": "MNIST", "forest": "Forest", "forest-all": "Forest, all"}
DATA_TASKS = {
    "reuters": "news stories: is it about money and foreign exchange?",
    "adult": "census records: does this person earn over $50,000?",
    "mnist": "handwritten digits: is it an 8?",
    "forest": "patches of land: is it lodgepole pine?",
}
METHOD_NAMES = {
    "sbp": "SBP",
    "pegasos": "Pegasos",
    "sdca": "SDCA",
    "smo": "SMO",
    "perceptron": "Perceptron",
    "fourier": "Fourier features",
    "svm-train": "LIBSVM (svm-train)",
    "sklearn": "scikit-learn SVC",
    "svc": "slackwater SVC",
}
REGIME_NAMES = {"proportional": "with L(u) = ε", "fixed": "with L(u) fixed"}
MODEL_NAMES = {"last": "last iterate", "uniform": "mean of iterates"}
NU_NAMES = {"printed": "ν as printed", "derived": "ν derived here"}
RUNTIME_NAMES = {**METHOD_NAMES, "sbp": "SBP, single steps"}
# Distinguishable without red against green, and on a light as on a dark ground (after Okabe and Ito).
COLOURS = {
    "sbp": "#0f7fc4",
    "pegasos": "#e08214",
    "sdca": "#2a9d76",
    "smo": "#b5619f",
    "perceptron": "#8a8f98",
    "fourier": "#c8503c",
    "svm-train": "#c8503c",
    "sklearn": "#e08214",
    "svc": "#2a9d76",
}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(error: float | None, digits: int = 2) -> str:
    return "–" if error is None else f"{100 * error:.{digits}f}\u00a0%"


def points(difference: float) -> str:
    """A difference of errors, in percentage points."""
    return f"{100 * difference:.1f}"


def many(count: float | None) -> str:
    """1,234 or 12.3 million: three digits say enough of a cost."""
    if count is None:
        return "–"
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if count >= 0.9995 * size:
            return f"{_three_digits(count / size)}\u00a0{name}"
    return f"{count:,.0f}"


def times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{_three_digits(ratio) if ratio >= 0.1 else f'{ratio:.2g}'}\u00a0×"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    for size, name in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 16 * 60 and seconds >= 2 * size:
            return f"{_three_digits(seconds / size)}\u00a0{name}"
    return f"{_three_digits(seconds)}\u00a0s"


def printed_percent(error: float) -> str:
    """With as many digits as the paper prints."""
    return f"{100 * error:g}\u00a0%"


def printed_duration(seconds: float) -> str:
    return f"{seconds:g}\u00a0s" if seconds < 3600 else f"{seconds / 3600:g}\u00a0h"


def scientific(value: float | None) -> str:
    if value is None:
        return "–"
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}\u00a0×\u00a010{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def signed(value: float, digits: int = 1) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def listed(items: list[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def _three_digits(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
