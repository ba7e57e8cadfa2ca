"""sbp-paper: the paper's tables and figures anew, and the page that shows them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from slackwater.datasets import available

from sbp_paper.experiments import runner
from sbp_paper.experiments.about import claim, note_run, read_about
from sbp_paper.experiments.job import Job, Mode
from sbp_paper.experiments.settings import PRINTED_SIZES
from sbp_paper.experiments.store import Store
from sbp_paper.report.export import write_report
from sbp_paper.report.findings import all_findings

app = typer.Typer(add_completion=False)
console = Console()


def main() -> None:
    """The command."""
    app()


@app.command()
def reproduce(
    parts: Annotated[
        list[str] | None, typer.Argument(help=f"Any of {', '.join(runner.PARTS)}; all if none is given.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick/--full",
            help="Minutes, on a part of each data set; or all of it, which takes hours.",
        ),
    ] = True,
    out: Annotated[Path, typer.Option(help="Folder for records, tables and the page.")] = Path("reproduction"),
    jobs: Annotated[int, typer.Option(help="How many experiments run side by side.", min=1)] = 2,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make the results anew that are there already.")] = False,
    page_only: Annotated[
        bool, typer.Option("--page-only", help="Run nothing: draw tables and page from the stored records.")
    ] = False,
) -> None:
    """Reproduce the tables and figures of the paper that introduced the Stochastic Batch Perceptron.

    Results are stored as they finish; interrupted, the command goes on where it was when it is called again.
    """
    chosen = _known(parts or [])
    mode: Mode = "quick" if quick else "full"
    records = out / "records"
    if page_only:
        if parts or fresh:
            _refuse("--page-only draws all that is stored and runs nothing: give neither parts nor --fresh with it.")
        if not records.is_dir():
            _refuse(f"{out} holds no records to draw. Run sbp-paper --out {out} first.")
        about = read_about(records)
        _check_writable(out)
        _draw(Store(records), out, about["mode"] if about else mode)
        return
    _check_writable(out)
    if records.exists() and not records.is_dir():
        _refuse(f"{records} must be a folder, got a file. Choose another --out.")
    _check_mode(records, mode, fresh and len(chosen) == len(runner.PARTS))
    if fresh:
        _forget(records, chosen)
    claim(records, mode)
    _announce(mode)
    waiting = runner.all_jobs(mode, chosen)
    _announce_downloads(waiting)
    failures = _run(waiting, Store(records), chosen, jobs)
    _draw(Store(records), out, mode)
    if failures:
        count = len(failures)
        console.print(
            f"{count} of {len(waiting)} experiments failed and are missing from the page; the reasons are above. "
            "The same command tries them again."
        )
        raise typer.Exit(1)


def _known(parts: Sequence[str]) -> list[str]:
    unknown = [part for part in parts if part not in runner.PARTS]
    if unknown:
        _refuse(f"parts must be among {', '.join(runner.PARTS)}, got {', '.join(unknown)}.")
    return [part for part in runner.PARTS if part in parts] or list(runner.PARTS)


def _check_mode(records: Path, mode: Mode, all_fresh: bool) -> None:
    """A folder holds results of one mode, so that hours of results are not replaced by those of minutes."""
    about = read_about(records)
    if about is None or about["mode"] == mode:
        return
    if all_fresh:
        shutil.rmtree(records)
        return
    _refuse(
        f"{records.parent} holds the results of a {about['mode']} run. Choose another folder with --out, "
        f"go on with --{about['mode']}, or replace all of them with --fresh, naming no part."
    )


def _check_writable(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        _refuse(f"--out must be a folder that can be written to, got {out} ({error.strerror}).")


def _forget(records: Path, parts: Sequence[str]) -> None:
    for part in parts:
        shutil.rmtree(records / part, ignore_errors=True)


def _announce(mode: Mode) -> None:
    if mode == "quick":
        console.print("A quick run: minutes, on a part of each data set. --full takes all of it, and hours.")
    else:
        console.print("A full run: hours. It may be interrupted; the same command goes on where it was.")


def _announce_downloads(waiting: Sequence[Job]) -> None:
    wanted = {name for job in waiting for name in job.key.split("/") if name in PRINTED_SIZES}
    missing = [name for name in PRINTED_SIZES if name in wanted and not available(name)]
    if missing:
        console.print(
            f"Not on this machine, so downloaded when needed: {', '.join(missing)}. "
            "SLACKWATER_DATA may name a folder that holds copies."
        )


def _run(waiting: Sequence[Job], store: Store, parts: Sequence[str], workers: int) -> Sequence[Any]:
    """Run, and note when and on what machine, even of a run that is interrupted."""
    had = sum(store.get(job) is not None for job in waiting)
    try:
        return runner.run(waiting, store, console, workers)
    finally:
        if sum(store.get(job) is not None for job in waiting) > had:
            note_run(store.folder, parts)


def _draw(store: Store, out: Path, mode: Mode) -> None:
    """Tables and page of the records that belong to this mode and version; the others are named, not shown."""
    jobs = runner.all_jobs(mode, list(runner.PARTS))
    records: dict[str, list[Any]] = {part: [] for part in runner.PARTS}
    for job in sorted(jobs, key=lambda job: job.key):
        if (record := store.get(job)) is not None:
            records[job.part].append(record)
    if strangers := store.strangers(jobs):
        console.print(
            f"Left out, as of other settings or unreadable: {', '.join(strangers[:8])}"
            f"{f' and {len(strangers) - 8} more' if len(strangers) > 8 else ''}. The command makes them anew.",
            highlight=False,
        )
    with console.status("Drawing …"):
        path = write_report(records, read_about(store.folder), out)
    table = Table(title="What the paper claims, and whether it holds here")
    table.add_column("claim")
    table.add_column("where")
    table.add_column("here")
    for finding in all_findings(records):
        table.add_row(finding.claim, finding.where, finding.verdict.replace("-", " "))
    console.print(table)
    console.print(f"Page: {path.resolve()}", style="bold", soft_wrap=True, highlight=False)


def _refuse(reason: str) -> NoReturn:
    typer.echo(f"Error: {reason}", err=True)
    raise typer.Exit(2)
