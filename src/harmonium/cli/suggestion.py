"""What to write for an endpoint, guessed from the columns of a file, for someone who has not named one."""

from __future__ import annotations

from collections.abc import Sequence

from harmonium.cli.line_numbers import data_files

__all__ = ["no_endpoint"]

_MOST_NAMES = 12


def no_endpoint(arguments: Sequence[str]) -> str:
    """What is said if a command has no --endpoint: the columns there are, and which of them may be one."""
    said = "there is no --endpoint; say which column holds the time, and which says whether the event was seen: -e NAME=TIME,EVENT"
    files = data_files(arguments)
    if not files:
        return said
    from harmonium.cli.proposal import proposed
    from harmonium.errors import silenced
    from harmonium.table.files.opening import open_table

    try:
        with silenced(UserWarning):
            table = open_table(files[0])
            frame = table.read(table.columns)
    except (ValueError, OSError, ImportError):
        return said
    names = ", ".join(map(repr, table.columns[:_MOST_NAMES])) + (", ..." if len(table.columns) > _MOST_NAMES else "")
    guess = proposed(frame)
    return f"{said}. {files[0].name} has {names}" + (f"; perhaps {guess}" if guess else "")
