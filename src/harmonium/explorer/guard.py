"""What stands between the network and the callbacks: limits, errors in one line instead of tracebacks, and headers.

* A request that Dash cannot read is refused with status 400, one that is too large with 413. Nothing that is sent ends the server.
* A ``ValueError`` in a callback becomes a line on the page.
* Headers tell browsers to fetch nothing from anywhere else, and to keep no answers.
* On the loopback address only requests for this machine by name are answered, so that no page on the internet can reach the model by
  giving itself this address.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

from dash import Dash, no_update
from dash.exceptions import PreventUpdate
from flask import Flask, Response, request
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from harmonium.explorer.cohort import MOST_BYTES

__all__ = ["answering", "guard"]

MOST_REQUEST_BYTES = MOST_BYTES * 4 // 3 + 2**20
"""A file of the largest size, as browsers encode it, and the rest of a form."""

_READ_AWAY = 100 * 2**20  # of a request that is too large, so that its sender comes to read the answer
_LOCAL = ("127.0.0.1", "localhost", "[::1]", "::1")
_LOG = logging.getLogger(__name__)


class UnexpectedError(Exception):
    """A callback failed for a reason that is not in the request."""


def answering(n_outputs: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For a callback with ``n_outputs`` outputs and then the children of a message.

    It returns its outputs as a tuple. What it refuses, with a ``ValueError``, is said in the message, and the outputs stay as they are.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        n_arguments = len(inspect.signature(function).parameters)

        @functools.wraps(function)
        def answer(*arguments: Any) -> Any:
            if len(arguments) != n_arguments:
                raise BadRequest(f"the request must have {n_arguments} inputs; found {len(arguments)}")
            try:
                return (*function(*arguments), "")
            except PreventUpdate:
                raise
            except ValueError as error:
                return (*[no_update] * n_outputs, " ".join(str(error).split())[:1000])
            except Exception as error:
                raise UnexpectedError(f"{type(error).__name__}: {error}") from error

        return answer

    return decorate


def guard(app: Dash, *, local: bool) -> None:
    """Put limits, error handlers and headers on an application whose layout and callbacks are complete."""
    server: Flask = app.server
    server.config["MAX_CONTENT_LENGTH"] = MOST_REQUEST_BYTES
    policy = _policy(app)

    @server.before_request
    def check() -> Response | None:
        host = request.host.rsplit(":", 1)[0] if not request.host.endswith("]") else request.host
        if local and host not in _LOCAL:
            return _text("this page can be reached from this machine only", 403)
        if (request.content_length or 0) > MOST_REQUEST_BYTES:
            _read_away()
            return _text(f"the request is too large; a file may have {MOST_BYTES // 2**20} MB", 413)
        return None

    @server.after_request
    def add_headers(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        if "_dash-component-suites" not in request.path:
            response.headers["Cache-Control"] = "no-store"
        return response

    @server.errorhandler(Exception)
    def refuse(error: Exception) -> Response:
        if isinstance(error, RequestEntityTooLarge):
            return _text(f"the request is too large; a file may have {MOST_BYTES // 2**20} MB", 413)
        if isinstance(error, HTTPException):
            return _text(error.description or error.name, error.code or 400)
        if isinstance(error, UnexpectedError):
            _LOG.error("a question could not be answered", exc_info=error)
            return _text("this should not have happened; please report it", 500)
        return _text("the request could not be understood; reload the page", 400)


def _policy(app: Dash) -> str:
    """Of content: all of it from here, and no script but those of the page."""
    scripts = " ".join(app.csp_hashes())
    return (
        f"default-src 'self'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _text(line: str, status: int) -> Response:
    return Response(line + "\n", status=status, mimetype="text/plain")


def _read_away() -> None:
    stream, left = request.environ["wsgi.input"], min(request.content_length or 0, _READ_AWAY)
    while left > 0:
        part = stream.read(min(left, 2**20))
        if not part:
            return
        left -= len(part)
