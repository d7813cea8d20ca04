"""The commands, and the one place where errors become a line and an exit code.

====  ======================================================================
code  meaning
====  ======================================================================
0     done
1     an unexpected error, or standard output was closed early
2     bad input: standard error says what is wrong, one line per problem
130   interrupted by Ctrl-C (143: terminated)
====  ======================================================================
"""

from __future__ import annotations

import inspect
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from harmonium.cli import benchmark, compare, demo, evaluate, explain, explore, fit, impute, info, plot, predict, reproduce, sample
from harmonium.cli.line_numbers import with_lines
from harmonium.cli.options import flag
from harmonium.cli.suggestion import no_endpoint
from harmonium.cli.terminal import Terminal
from harmonium.errors import TableError
from harmonium.version import __version__

__all__ = ["main"]

# Usage errors have no public name in typer, but this one derives from them.
_UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    name="harmonium",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with:\n\nharmonium fit data.csv --endpoint os=os_mth,os_event -o model.harmonium",
)


def _flowing(text: str) -> str:
    """Paragraphs without line breaks, so that they fill the terminal; indented ones are left alone."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else part.replace("\n", " ") for part in paragraphs)


_COMMANDS = {
    "demo": demo,
    "fit": fit,
    "predict": predict,
    "evaluate": evaluate,
    "compare": compare,
    "explain": explain,
    "impute": impute,
    "sample": sample,
    "info": info,
    "explore": explore,
    "reproduce": reproduce,
    "benchmark": benchmark,
}

for _name, _module in _COMMANDS.items():
    app.command(_name, help=_flowing(_module.run.__doc__), epilog=_module.EXAMPLES)(_module.run)

_figures = typer.Typer(help="Draw a figure of a table or of a model.", no_args_is_help=True)
for _name, (_command, _example) in plot.COMMANDS.items():
    _figures.command(_name, help=_flowing(_command.__doc__ or ""), epilog=f"Example:\n\n{_example}")(_command)
app.add_typer(_figures, name="plot")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harmonium {__version__}")
        raise typer.Exit


def _show_tracebacks(context: typer.Context, wanted: bool) -> None:
    context.obj.tracebacks = wanted


@app.callback()
def _harmonium(
    version: Annotated[bool, flag("--version", callback=_show_version, help="Show the version.")] = False,
    tracebacks: Annotated[bool, flag("--traceback", callback=_show_tracebacks, help="Show where in the code an error arose.")] = False,
) -> None:
    """Survival analysis with several endpoints and missing covariates."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    terminal = Terminal()
    with warnings.catch_warnings(), _ending_in_order():
        terminal.take_warnings()
        try:
            code = app(arguments, prog_name="harmonium", standalone_mode=False, obj=terminal)
        except _UsageError as error:
            message = error.format_message()
            return terminal.refuse(error, no_endpoint(arguments) if message.startswith("Missing option '--endpoint'") else message)
        except OSError as error:
            return terminal.refuse(error, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except TableError as error:
            return terminal.refuse(error, *with_lines((problem.message for problem in error.problems), arguments))
        except (ValueError, ImportError) as error:
            return terminal.refuse(error, *with_lines([str(error)], arguments))
        except Exception as error:
            if not terminal.quiet:
                traceback.print_exc()
            terminal.error(f"this should not have happened ({type(error).__name__}: {error}); please report it")
            return 1
    if code == 130:
        terminal.note("interrupted")
    return code or 0


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let a termination unwind the stack, so that no temporary files stay behind."""

    def end(signal_number: int, _: Any) -> None:
        raise SystemExit(128 + signal_number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
