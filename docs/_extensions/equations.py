"""Links from "eq. 3" in a docstring to that equation of the page on the model, whose labels are the numbers: ``eq-3``."""

from __future__ import annotations

import re
from typing import Any


def link_equations(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Replace every citation in a docstring's lines, in place."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"\beq\. (\d+)", r":eq:`eq-\1`", line)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", link_equations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
