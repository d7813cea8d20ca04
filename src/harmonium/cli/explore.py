"""``harmonium explore``."""

from __future__ import annotations

from typing import Annotated

import typer

from harmonium.cli.options import Model, Quiet, flag
from harmonium.cli.terminal import Terminal
from harmonium.errors import require_package

EXAMPLES = """
Examples:

harmonium explore model.harmonium

harmonium explore model.harmonium --unit months --port 8051 --no-browser
"""


def run(
    context: typer.Context,
    model_file: Model,
    unit: Annotated[
        str, typer.Option("--unit", metavar="NAME", help="Unit of time, such as months, for labels.", show_default="that of the model")
    ] = "",
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="NUMBER", min=0, max=65535, help="Port to listen on.", show_default="8050, or any free port"),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on; 0.0.0.0 opens the page to the network, unencrypted.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, flag("--no-browser", help="Do not open a browser.")] = False,
    quiet: Quiet = False,
) -> None:
    """Explore a model on a page in the browser: patients, scenarios, endpoints together, cohorts.

    The page is served on this machine only and needs no network. What is entered stays on this machine; nothing is stored. With --host
    others can use it too: anyone who can reach this machine can use the model, and what they enter travels unencrypted.
    """
    from harmonium.model.storage import read_contents

    terminal: Terminal = context.obj
    require_package("dash", "the page needs Dash", "explorer")
    contents = read_contents(model_file)
    from harmonium.explorer.app import make_app  # takes longer than all messages above
    from harmonium.explorer.server import LOOPBACK, WARNING, serve
    from harmonium.model.loading import model_in

    model = model_in(contents, n_jobs=1)
    local = host in LOOPBACK
    app = make_app(model, unit=unit, title=f"{model_file.stem}: harmonium", local=local)
    if not local:
        terminal.warn(WARNING)
    serve(app, host, port, browser=not no_browser, say=terminal.note)
    terminal.note("stopped")
