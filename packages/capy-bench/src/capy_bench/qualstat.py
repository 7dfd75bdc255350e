"""`capy-qualstat`: show one report, or hold two against each other. Standard library only: it starts at once."""

from __future__ import annotations

import io
import os
import sys

from .compare import Comparison, Row, Unusable, compare, read
from .tables import both, single

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

CLEAN, REGRESSION, UNUSABLE = 0, 1, 2
_EPILOG = """\
examples:
  capy-qualstat main.json                            what one run found
  capy-qualstat main.json branch.json                what changed; exit 1 on a regression
  capy-qualstat main.json branch.json --markdown     the same, to paste into a pull request
"""


def main() -> None:
    """Run the program with the arguments of the command line, and exit with its status."""
    if sys.stdout is None:  # started with a closed output: nothing can be shown, the status still tells
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for as long as the program runs
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Print what the arguments ask for.

    Returns:
        0: one report shown, or no regression; 1: a regression or a new failure; 2: wrong usage, a file that is no
        report, reports that do not compare, or an output that cannot be written; 130 and 141: stopped by Ctrl-C or by
        the reader of a pipe.
    """
    try:
        try:
            options = parser().parse_args(arguments)
            status = _show(options.base, options.target, options)
        except SystemExit as ex:  # --help, or wrong usage, which argparse has told
            status = UNUSABLE if ex.code else CLEAN
        sys.stdout.flush()
    except Unusable as ex:
        print(f"capy-qualstat: {ex}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough
        sys.stdout = None  # nothing left to flush into the closed pipe
        return 141
    except OSError as ex:
        sys.stdout = None
        print(f"capy-qualstat: the output cannot be written: {ex.strerror}", file=sys.stderr)
        return UNUSABLE
    return status


def parser() -> argparse.ArgumentParser:
    """The command line."""
    import argparse

    command = argparse.ArgumentParser(
        "capy-qualstat",
        description="Show a report of capy-bench, or hold two against each other.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_argument("base", help="a report, written by capy-bench ... --out FILE")
    command.add_argument("target", nargs="?", help="a report of the same dataset, to hold against the first")
    command.add_argument(
        "--threshold", type=_share, default=0.02, help="what a metric from 0 to 1 may lose (default %(default)s)"
    )
    command.add_argument(
        "--relative",
        type=_share,
        default=0.10,
        help="what a time, size or speed may lose, as a share of the base (default %(default)s)",
    )
    command.add_argument("--all", action="store_true", help="show the figures that did not change, too")
    command.add_argument("--markdown", action="store_true", help="tables in Markdown")
    command.add_argument("--format", choices=("text", "json"), default="text", help="json: one object for scripts")
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: on a terminal")
    return command


def as_record(found: Comparison) -> dict[str, object]:
    """A comparison as `capy.bench.comparison/1`, see docs/formats."""
    return {
        "schema": "capy.bench.comparison/1",
        "clean": found.clean,
        "metrics": [_metric(row) for row in found.rows],
        "new_failures": found.new_failures,
        "resolved": found.resolved,
    }


def _show(base_file: str, target_file: str | None, options) -> int:  # type: ignore[no-untyped-def]
    import json

    base = read(base_file)
    if target_file is None:
        text = json.dumps(base) + "\n" if options.format == "json" else single(base, markdown=options.markdown)
        _write(text)
        return CLEAN
    target = read(target_file)
    found = compare(base, target, tolerance=options.threshold, relative=options.relative)
    if options.format == "json":
        _write(json.dumps(as_record(found)) + "\n")
    else:
        colour = options.color == "always" or (options.color == "auto" and _terminal())
        _write(both(base, target, found, markdown=options.markdown, everything=options.all, colour=colour))
    return CLEAN if found.clean else REGRESSION


def _metric(row: Row) -> dict[str, object]:
    return {name: getattr(row, name) for name in ("group", "metric", "unit", "base", "target", "change")}


def _write(text: str) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):  # what the terminal's encoding lacks is escaped
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text)
    sys.stdout.flush()


def _terminal() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _share(text: str) -> float:
    """A tolerance: the older program took it as a negative number, and both signs mean the same here."""
    share = abs(float(text))
    if not share <= 1:
        raise ValueError("from 0 to 1")
    return share
