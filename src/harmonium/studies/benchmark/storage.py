r"""Results of tasks: one text file for each study and model, small enough to be kept with the source.

Every task is one line, appended when it is done and ended by a checksum: a line that was cut off when the process was killed is not
mistaken for a result, and the task is run again. Two processes may append at once. When a run ends the lines are sorted, so that the same
results give the same file. Numbers have ten significant digits, and the ones in memory are the ones in the file: tables do not depend on
whether results were computed or read.
"""

from __future__ import annotations

import csv
import io
import os
import platform
import secrets
import zlib
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from harmonium.studies.benchmark.evaluation import METRICS, Result, inputs_digest, kinds_of
from harmonium.studies.benchmark.protocol import Protocol, Task

__all__ = ["Results"]

_VERSION = 2
"""Of the protocol: raised when scores would come out differently."""

_PACKAGES = ("harmonium", "numpy", "scipy", "numba", "lifelines", "scikit-survival")
_LONGEST_FAILURE = 160
_PLACES = ("outer", "candidate", "inner")
_BESIDES = ("seconds", "sampled", "failure")
_MADE_WITH = "# made with "


class Results:
    """Results in a folder, a file ``STUDY-MODEL.csv`` for each study and model.

    Parameters
    ----------
    folder : Path
    protocol : Protocol
        Results of other folds, tables or search spaces are refused.
    """

    def __init__(self, folder: Path, protocol: Protocol) -> None:
        self.folder = folder
        self.protocol = protocol
        self._files: dict[tuple[str, str], _File] = {}

    def get(self, task: Task) -> Result | None:
        """The result of a task, if it is there."""
        return self._file(task.study, task.model).results.get(_key(task))

    def put(self, task: Task, result: Result) -> None:
        """Keep a result."""
        self._file(task.study, task.model).append(_key(task), result)

    def tidy(self) -> None:
        """Sort the lines of all files that were used."""
        for file in self._files.values():
            file.tidy()

    def environments(self, study: str, model: str) -> list[str]:
        """What the results of a study and model were made with."""
        return sorted(self._file(study, model).environments)

    def _file(self, study: str, model: str) -> _File:
        if (study, model) not in self._files:
            head = f"# harmonium benchmark {_VERSION}: {self.protocol.folds} folds, inputs {inputs_digest(self.protocol, study, model)}"
            columns = [(kind, metric) for kind in kinds_of(study, model) for metric in METRICS]
            self._files[study, model] = _File(self.folder / f"{study}-{model}.csv", head, columns)
        return self._files[study, model]


_Key = tuple[int, int, int]


def _key(task: Task) -> _Key:
    """Outer fold, candidate and inner fold, -1 for the fit on the whole outer training set."""
    return task.outer, task.candidate, -1 if task.inner is None else task.inner


class _File:
    """The results of one study and model."""

    def __init__(self, path: Path, head: str, columns: list[tuple[str, str]]) -> None:
        self.path, self.head, self.columns = path, head, columns
        self.results: dict[_Key, Result] = {}
        self.environments: set[str] = set()
        self._lines: dict[_Key, str] = {}
        self._read()

    def append(self, key: _Key, result: Result) -> None:
        """Keep a result, in memory and in the file."""
        line = self._line(key, result)
        text = f"{line}\n"
        if _environment() not in self.environments:
            text = f"{_MADE_WITH}{_environment()}\n{text}"
        if not self.path.exists():
            self._write()
        # One call for the whole line, after a line of its own: what another process left unfinished is not continued.
        with self.path.open("ab", buffering=0) as file:
            file.write(f"\n{text}".encode())
        self._take(text.splitlines())

    def tidy(self) -> None:
        """Write everything in order, what others have added in the meantime included."""
        if self.path.exists():
            self._read()
            self._write()

    def _write(self) -> None:
        """The whole file, or none of it."""
        names = [*_PLACES, *_BESIDES, *(f"{kind} {metric}" for kind, metric in self.columns), "checksum"]
        lines = [self.head, *(f"{_MADE_WITH}{made}" for made in sorted(self.environments)), ",".join(names)]
        lines += [self._lines[key] for key in sorted(self._lines)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        os.replace(temporary, self.path)

    def _read(self) -> None:
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return
        if not lines or lines[0] != self.head:
            found = lines[0] if lines else "nothing"
            raise ValueError(f"{self.path} begins with {found!r}, which is another benchmark than {self.head!r}. Use another folder")
        self._take(lines[1:])

    def _take(self, lines: list[str]) -> None:
        for line in lines:
            if line.startswith(_MADE_WITH):
                self.environments.add(line.removeprefix(_MADE_WITH))
            elif _is_whole(line):
                key, result = self._parsed(line)
                if key not in self.results:
                    self.results[key], self._lines[key] = result, line

    def _line(self, key: _Key, result: Result) -> str:
        failure = " ".join(result.failure.split())[:_LONGEST_FAILURE]
        scores = [f"{result.scores[column]:.10g}" if column in result.scores else "" for column in self.columns]
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow([*key, f"{result.seconds:.3g}", result.n_sampled, failure, *scores])
        return f"{out.getvalue()},{_checksum(out.getvalue())}"

    def _parsed(self, line: str) -> tuple[_Key, Result]:
        outer, candidate, inner, seconds, n_sampled, failure, *scores = next(csv.reader([line]))[:-1]
        known = {column: float(text) for column, text in zip(self.columns, scores, strict=True) if text}
        return (int(outer), int(candidate), int(inner)), Result(float(seconds), failure, int(n_sampled), known)


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _is_whole(line: str) -> bool:
    """Whether a line ends with its checksum; headings and blank lines do not."""
    content, _, checksum = line.rpartition(",")
    return checksum == _checksum(content)


@lru_cache(maxsize=1)
def _environment() -> str:
    """Versions of what results depend on, as far as it is installed."""
    return ", ".join([f"Python {platform.python_version()}", *_versions()])


def _versions() -> Iterator[str]:
    for package in _PACKAGES:
        try:
            yield f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            continue
