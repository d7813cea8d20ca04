"""Figures of the examples."""

from __future__ import annotations

import matplotlib as mpl


def sharp(gallery_conf: dict[str, object], fname: str) -> None:
    """More dots than sphinx-gallery's default, which is coarse on today's screens."""
    mpl.rcParams["savefig.dpi"] = 160
