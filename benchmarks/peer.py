"""Measure the peer, ``harmoniums`` 0.1.2, in its own environment.

The peer runs in a subprocess (:mod:`benchmarks.peer_worker`). Requests and answers are lines of JSON on its standard input
and output; what a method does and returns is documented in the worker.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from benchmarks.peer_environment import PEER_DIRECTORY, PeerError, ensure_environment

__all__ = ["Peer", "PeerError", "PeerTimeoutError", "ensure_environment"]

_WORKER = Path(__file__).resolve().parent / "peer_worker.py"
_STARTUP_SECONDS = 600.0  # the peer compiles on import: some twenty seconds on an idle machine
_PARTING_SECONDS = 5.0


class PeerTimeoutError(PeerError):
    """The peer did not answer in time, and was stopped."""


class Peer:
    """A running peer.

    Parameters
    ----------
    timeout : float, optional
        Seconds that a call may take; forever if None. Starting the worker (and the compilation that goes with it) does not
        count.
    directory : path, optional
        Where the environment of the peer lives, or is to be built.

    Notes
    -----
    A worker that timed out or crashed is replaced at the next call, so that one hopeless case does not end a benchmark.

    Examples
    --------
    with Peer(timeout=60) as peer:
    ...     peer.call("truncated_gamma_seconds", alpha=2.0, beta=1.0, lower=0.0, n_draws=1000, repeats=3)
    """

    def __init__(self, timeout: float | None = None, directory: str | Path = PEER_DIRECTORY) -> None:
        self.timeout = timeout
        self.directory = Path(directory)
        self._worker: _Worker | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._stop()

    def call(self, method: str, /, *, timeout: float | None = None, **kwargs: Any) -> Any:
        """Call a method of the worker.

        Parameters
        ----------
        method : str
            Its name, a function of :mod:`benchmarks.peer_worker`.
        timeout : float, optional
            Seconds that this call may take; that of the peer if None.
        **kwargs
            Arguments of the method, anything that JSON can carry.

        Returns
        -------
        object
            What the method returned, after a round trip through JSON.

        Raises
        ------
        PeerError
            When the method raised, or when the worker died.
        PeerTimeoutError
            When there was no answer in time. The worker is killed.
        """
        seconds = self.timeout if timeout is None else timeout
        request = json.dumps({"method": method, "kwargs": kwargs})
        worker = self._worker or self._start()
        try:
            answer = worker.ask(request, seconds)
        except queue.Empty:
            self._stop()
            raise PeerTimeoutError(f"the peer did not finish {method}({_spell(kwargs)}) within {seconds:g} s") from None
        except EOFError as error:
            self._stop()
            raise PeerError(f"the peer died in {method}({_spell(kwargs)}): {error}") from None
        except BaseException:  # an interrupt: an answer that arrives later must not be taken for that of the next call
            self._stop()
            raise
        if "error" in answer:
            raise PeerError(f"the peer failed in {method}({_spell(kwargs)}): {answer['error']}")
        return answer["result"]

    def _start(self) -> _Worker:
        """Start a worker and wait until it has imported the peer."""
        worker = _Worker(ensure_environment(self.directory))
        try:
            worker.read(_STARTUP_SECONDS)
        except queue.Empty:
            worker.stop()
            raise PeerTimeoutError(f"the peer did not start within {_STARTUP_SECONDS:g} s") from None
        except EOFError as error:
            worker.stop()
            raise PeerError(f"the peer did not start: {error}") from None
        except BaseException:
            worker.stop()
            raise
        self._worker = worker
        return worker

    def _stop(self) -> None:
        """Stop the worker, if there is one."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None


class _Worker:
    """The subprocess: a thread reads its answers, so that waiting for one can time out on every platform."""

    def __init__(self, python: Path) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed in stop()
        # Isolated (-I): neither PYTHONPATH nor the working directory may put our packages before those of the peer.
        self._process = subprocess.Popen(
            [str(python), "-I", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read_lines, daemon=True)
        self._reader.start()

    def _read_lines(self) -> None:
        """Pass on what the worker says; None when it has gone."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def ask(self, request: str, seconds: float | None) -> dict[str, Any]:
        """Send one request and wait for its answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            raise EOFError(self._last_words()) from None
        return self.read(seconds)

    def read(self, seconds: float | None) -> dict[str, Any]:
        """Wait for a line: queue.Empty when it is late, EOFError when it will never come."""
        line = self._answers.get(timeout=seconds)
        if line is None:
            raise EOFError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        """The exit status of a worker that died, and the end of what it printed."""
        try:
            status = self._process.wait(_PARTING_SECONDS)
        except subprocess.TimeoutExpired:
            return "it closed its output but is still running"
        self._errors.seek(0)
        tail = self._errors.read().decode("utf-8", errors="replace").splitlines()[-15:]
        return "\n".join([f"exit status {status}", *tail])

    def stop(self) -> None:
        """Kill the worker at once: it has no state worth saving, and may be deep inside compiled code."""
        self._process.kill()
        self._process.wait()
        self._reader.join(_PARTING_SECONDS)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # an unsent request
                    stream.close()
        self._errors.close()


def _spell(kwargs: dict[str, Any]) -> str:
    """Spell out arguments for an error message, long ones cut short."""
    spelled = (f"{name}={value!r}" for name, value in kwargs.items())
    return ", ".join(text if len(text) <= 60 else text[:57] + "..." for text in spelled)


def main() -> None:
    """Build the environment if needed and show what is in it."""
    begin = time.perf_counter()
    with Peer() as peer:
        print(f"started in {time.perf_counter() - begin:.1f} s:", peer.call("versions"))


if __name__ == "__main__":
    main()
