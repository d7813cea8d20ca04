"""The README's code runs."""

import re
from pathlib import Path

import numpy as np

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()


def test_code_blocks_run():
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert np.isfinite(names["log_likelihood"]).all()
    assert (names["chains"].values[1, 2] > 0.6).all()


def test_what_it_links_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (Path(__file__).resolve().parents[1] / target).exists(), target
