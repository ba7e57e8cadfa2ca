"""Made-up records in the shape of the real ones, to draw from in tests. None of these numbers was measured."""

from __future__ import annotations

import numpy as np

SIZES = {"reuters": 7770, "adult": 32561, "mnist": 60000}
FINALS = {"reuters": 0.029, "adult": 0.149, "mnist": 0.0057}
STARTS = {"reuters": 0.055, "adult": 0.24, "mnist": 0.097}
PACES = {"sbp": 0.06, "pegasos": 0.3, "sdca": 0.2, "smo": 0.5, "perceptron": 0.06}  # epochs until about there


def fig2(seeds=3):
    return {
        f"fig2/{data}/{method}/{seed}": _run(data, method, seed)
        for data in SIZES
        for method in PACES
        for seed in range(seeds)
    }


def _run(data, method, seed):
    n, final, start = SIZES[data], FINALS[data], STARTS[data]
    rng = np.random.default_rng([seed, len(data), len(method)])
    epochs = np.geomspace(1e-3, 100 if (data, method) == ("adult", "perceptron") else 10, 90)
    sharpness = 6 if method == "smo" else 1.3
    left = 1 / (1 + (epochs / PACES[method]) ** sharpness)
    error = final + (start - final) * left * np.exp(0.1 * rng.standard_normal(90)) + 0.0002 * rng.random(90)
    if method == "perceptron":
        error += 0.15 * final + 0.02 * final * np.log1p(epochs) ** 2
    evaluations = np.maximum(epochs * n * n, n)
    return {
        "data": data,
        "method": method,
        "seed": seed,
        "n": n,
        "steps": [int(e * n) + 1 for e in epochs],
        "evaluations": [int(e) for e in evaluations],
        "test_error": [float(e) for e in error],
        "computed_evaluations": n * n,
        "seconds": 12.5,
        "first_epoch_evaluations": n * n,
        "ended": "converged" if method == "smo" else "epochs",
        **(
            {"alternative": {"model": "last", "test_error": [float(1.1 * e) for e in error]}}
            if method in ("sbp", "perceptron")
            else {}
        ),
    }


def fig3(seeds=3):
    records = {}
    for data, n in SIZES.items():
        for pairs in (2**k for k in range(13)):
            for seed in range(seeds):
                error = FINALS[data] + (STARTS[data] - FINALS[data]) / (1 + pairs / 40) + 1e-4 * seed
                records[f"fig3/{data}/{pairs}/{seed}"] = {
                    "data": data,
                    "pairs": pairs,
                    "seed": seed,
                    "n": n,
                    "inner_products": pairs * n,
                    "test_error": error,
                    "seconds": 1.0,
                }
    return records


def table2():
    rows = [
        (
            "reuters",
            False,
            7770,
            3299,
            0.5,
            "n",
            6.81e-4,
            6.34e-4,
            20.83,
            0.029,
            "Our copy <collapses> repeated entries.",
        ),
        ("adult", False, 32561, 16281, 10, "n", 1.097e-2, 1.10e-2, 28.9, 0.149, None),
        ("mnist", False, 60000, 10000, 25, "n", 2.16e-4, 2.21e-4, 43.7, 0.0057, None),
        ("adult", True, 32561, 16281, 100, "100n", 1.37e-3, 5.79e-4, 200.0, 0.149, "Not the printed value."),
        ("mnist", True, 60000, 10000, 25, "1000n", 3e-11, 6.42e-11, 60.0, 0.0044, None),
        ("forest", True, 522910, 58102, 5000, "10000n", 8e-10, 7.62e-10, 900.0, 0.018, None),
    ]
    fields = [
        "data",
        "bias",
        "n",
        "n_test",
        "sigma2",
        "inverse_lambda",
        "nu",
        "paper_nu",
        "norm",
        "test_error",
        "remark",
    ]
    return {
        f"table2/{row[0]}/{'with' if row[1] else 'without'}_bias": {
            **dict(zip(fields, row, strict=True)),
            "C": 1.0,
            "loss": 0.3,
            "gap": 4.2e-4,
            "nu_range": [0.9 * row[6], 1.1 * row[6]],
            "support": 4000,
            "seconds": 9.0,
        }
        for row in rows
    }


def table1():
    return {
        "table1/bounds": {
            "rows": [
                {"method": "SBP", "overall": "((L(u)+ε)/ε)³ ‖u‖⁴/ε", "small_loss": "‖u‖⁴/ε"},
                {"method": "Dual decomposition", "overall": "((L(u)+ε)/ε)² ‖u‖⁴/ε²", "small_loss": "‖u‖⁴/ε²"},
                {"method": "SGD on the loss", "overall": "((L(u)+ε)/ε) ‖u‖⁴/ε³", "small_loss": "‖u‖⁴/ε³"},
            ],
            "advantage": [{"target": t, "dual_decomposition": 1 / t, "sgd": 1 / t**2} for t in (0.1, 0.01)],
        }
    }


def fig1():
    records = {}
    for data, nu, wet_share in (("adult", 0.011, 0.36), ("mnist", 2.2e-4, 0.07)):
        n = SIZES[data]
        heights = np.sort(np.random.default_rng(3).normal(0.05, 0.03, 2000))
        level = float(np.quantile(heights, wet_share))
        records[f"fig1/{data}"] = {
            "data": data,
            "n": n,
            "nu": nu,
            "steps": 5000,
            "responses": [float(h) for h in heights],
            "level": level,
            "volume": n * nu,
            "n_wet": int(wet_share * n),
        }
    return records


def fig4():
    rng = np.random.default_rng(4)
    positives, negatives = np.sort(rng.normal(0.01, 0.03, 1000)), np.sort(rng.normal(0.06, 0.03, 1000))
    level, bias, wet = 0.0, 0.01, 2700
    return {
        "fig4/adult": {
            "data": "adult",
            "n": 32561,
            "nu": 5e-4,
            "steps": 5000,
            "positives": [float(p) for p in positives],
            "negatives": [float(p) for p in negatives],
            "n_positives": 7841,
            "n_negatives": 24720,
            "level": level,
            "bias": bias,
            "n_wet_positives": wet,
            "n_wet_negatives": wet,
        }
    }


def runtime():
    records = {}
    for data, n, seconds, error in (
        ("adult", 32561, 90.0, 0.149),
        ("mnist", 60000, 240.0, 0.0044),
        ("forest", 100000, None, None),
    ):
        common = {"data": data, "n": n, "n_test": 10000, "C": 100.0, "gamma": 0.02, "budget": 1800.0, "threads": 1}
        for method, time in (("svm-train", seconds), ("sklearn", seconds and 0.7 * seconds)):
            records[f"runtime/{data}/{method}"] = common | {
                "method": method,
                "seconds": time,
                "test_error": error,
                "support": None if error is None else 4000,
                "curve": None,
                "remark": None if seconds else "Stopped by its budget.",
            }
        end = error or 0.05
        for method, pace in (("sbp", 5.0), ("svc", 0.3)):
            times = np.geomspace(0.1, seconds or 1800.0, 40)
            errors = end + 0.1 / (1 + (times / pace) ** 1.5) - 0.0002
            records[f"runtime/{data}/{method}"] = common | {
                "method": method,
                "seconds": float(times[-1]),
                "test_error": float(errors[-1]),
                "support": 3500,
                "curve": {"seconds": [float(t) for t in times], "test_error": [float(e) for e in errors]},
                "remark": None,
            }
    alone = records["runtime/forest/svc"] | {"data": "forest-all", "n": 522910, "seconds": 90.0, "budget": None}
    records["runtime/forest-all/svc"] = alone | {"curve": {"seconds": [90.0], "test_error": [0.018]}}
    return records


def forest():
    steps = np.unique(np.geomspace(500, 200_000, 30).astype(int))
    records = {}
    for source, nu, pace in (("printed", 7.62e-10, 40_000), ("derived", 3e-10, 50_000)):
        errors = 0.0167 + 0.48 / (1 + (steps / pace) ** 6)
        records[f"forest/{source}"] = {
            "data": "forest",
            "method": "sbp",
            "n": 522910,
            "n_test": 58102,
            "gamma": 1e-4,
            "nu_source": source,
            "nu": nu,
            "optimum_gap": None if source == "printed" else 0.009,
            "target": 0.019,
            "gap": 0.2,
            "threads": 2,
            "steps": [int(s) for s in steps],
            "rows": [2 * int(s) for s in steps],
            "evaluations": [10_000 * int(s) for s in steps],
            "seconds": [2.0 + 0.005 * float(s) for s in steps],
            "processor_seconds": [3.0 + 0.006 * float(s) for s in steps],
            "test_error": [float(e) for e in errors],
            "support": [int(s) // 3 for s in steps],
        }
    return records


def scaling(seeds=3):
    records = {}
    for method, exponent in (("sbp", 1.0), ("smo", 1.4), ("pegasos", 2.6)):
        for seed in range(seeds):
            rng = np.random.default_rng([seed, len(method)])
            records[f"scaling/{method}/{seed}"] = {
                "method": method,
                "seed": seed,
                "norm": 20.0,
                **_costs(exponent, rng, reached=4 if method == "pegasos" else 5),
                "fixed": _costs(exponent + 1, rng, reached=5),
            }
    return records


def _costs(exponent, rng, reached):
    epsilon = [0.2, 0.1, 0.05, 0.02, 0.01]
    cost = [float(1e5 * e**-exponent * np.exp(rng.normal(0, 0.1))) for e in epsilon]
    cost = [c if k < reached else None for k, c in enumerate(cost)]
    return {
        "epsilon": epsilon,
        "loss": epsilon,
        "n": [int(100 / e) for e in epsilon],
        "iterations": [c and int(c / 100) for c in cost],
        "evaluations": cost,
        "analysed": [c and 2 * c for c in cost],
    }


PARTS = {
    "table1": table1,
    "table2": table2,
    "fig1": fig1,
    "fig2": fig2,
    "fig3": fig3,
    "fig4": fig4,
    "runtime": runtime,
    "forest": forest,
    "scaling": scaling,
}

ABOUT = {
    "mode": "quick",
    "runs": [
        {
            "parts": list(PARTS),
            "finished": "2001-02-03T04:05:06+00:00",
            "machine": {"processor": "A processor", "cores": 2, "memory": "24 GiB", "system": "A system"},
            "versions": {"slackwater": "0.1.0", "Python": "3.12.0"},
        }
    ],
}


def records():
    return {part: list(make().values()) for part, make in PARTS.items()}
