"""Serving the page."""

from __future__ import annotations

import errno
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

from werkzeug.serving import BaseWSGIServer, make_server

__all__ = ["LOOPBACK", "WARNING", "bind", "serve"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")
USUAL_PORT = 8050

WARNING = (
    "the page is open to the network: anyone who can reach this machine can use the model, and what they enter travels unencrypted. "
    "Do not enter data of patients unless you trust the network"
)


def bind(app: Any, host: str, port: int | None) -> BaseWSGIServer:
    """Take a port; without one, the usual or any that is free.

    Raises
    ------
    ValueError
        If the port is taken, or there is no such host.
    """
    wanted = [port] if port is not None else [USUAL_PORT, 0]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number, candidate in enumerate(wanted):
        taken = socket.socket(family, socket.SOCK_STREAM)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((host, candidate))
            taken.listen(128)
        except OSError as error:
            taken.close()
            if number + 1 < len(wanted) and error.errno == errno.EADDRINUSE:
                continue
            taken_already = error.errno == errno.EADDRINUSE
            hint = "it is in use; choose another with --port" if taken_already else (error.strerror or str(error))
            raise ValueError(f"cannot listen on {host}, port {candidate}: {hint}") from error
        return make_server(host, taken.getsockname()[1], app.server, threaded=True, fd=taken.detach())
    raise AssertionError("the last port is taken, or an error is raised")


def serve(app: Any, host: str, port: int | None, *, browser: bool, say: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Parameters
    ----------
    app : dash.Dash
    host : str
    port : int, optional
    browser : bool
        Open the page in the user's browser.
    say : callable
        Takes lines for the user.
    """
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would log every request
    server = bind(app, host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{server.port}/"
    say(f"serving on {address}; stop with Ctrl-C")
    if browser:
        here = address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        threading.Timer(0.3, webbrowser.open, [here]).start()
    try:
        server.serve_forever()  # Ctrl-C ends it in order
    finally:
        server.server_close()
