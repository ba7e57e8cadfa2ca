"""Fuzz the readers of models and of data guided by coverage (atheris): inputs that reach new code breed further ones.

    python tests/fuzz/guided.py models|svmlight|csv|npz|npy --runs 50000

The first inputs are those of fuzz_models.py and fuzz_data.py. A finding ends it with the input and a traceback.
Needs: pip install atheris.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["slackwater.model_io", "slackwater.data_io", "slackwater.estimators.loading"]):
    import fuzz_data
    import fuzz_models

TARGETS = ("models", "svmlight", "csv", "npz", "npy")


def reader_and_seeds(target: str, folder: Path) -> tuple[Callable[[bytes], object], list[bytes]]:
    """What is done with an input, and the first inputs."""
    if target == "models":
        archives, texts = fuzz_models.seeds()
        return fuzz_models.outcome, [*archives, *texts]
    path = folder / "input.bin"
    return lambda content: fuzz_data.try_one(target, content, path), fuzz_data.seeds()[target]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, default=50_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of odd numbers, on the way to refusing them
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        read, seeds = reader_and_seeds(options.target, folder)
        corpus = folder / "corpus"
        corpus.mkdir()
        for number, content in enumerate(seeds):
            (corpus / str(number)).write_bytes(content)
            read(content)  # compiles what is needed
        limits = [f"-runs={options.runs}", "-max_len=20000", "-timeout=10", "-rss_limit_mb=2000", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *limits, str(corpus)], read)
        print(f"{options.target}: {options.runs} inputs, guided by coverage", flush=True)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
