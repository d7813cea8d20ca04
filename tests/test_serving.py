"""The recipe for MLflow in docs/tutorials/serving.md runs with MLflow, where that is installed."""

import re
import subprocess
import sys

import pytest

from tests.documents import ROOT, environment


@pytest.mark.slow
def test_the_recipe_runs_with_mlflow(tmp_path):
    pytest.importorskip("mlflow", reason="THE MLFLOW RECIPE DID NOT RUN: pip install mlflow-skinny")
    text = (ROOT / "docs/tutorials/serving.md").read_text()
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    code = [block for language, block in blocks if not block.startswith(">>>")]
    check = "\nimport numpy as np\nnp.testing.assert_array_equal(served.predict(X[:3])['os_risk'], model.predict(X[:3]))\nprint('same')\n"
    (tmp_path / "recipe.py").write_text("\n".join(code) + check)
    settings = {**environment(), "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run([sys.executable, "recipe.py"], cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("same\n"), done.stderr
