"""Check what is published as a user would meet it: outside the clone, in an empty environment, without extras.

``python tools/smoke.py [ARCHIVE ...]`` installs each archive (the newest wheel and the newest source archive in ``dist/`` unless some are
named) into a temporary environment of its own. There it checks the licences of everything that was installed and that optional packages
did not come along, then fits, predicts, evaluates, saves and loads, and asks the command line, which must name the extra that it needs.
The exit code says whether all of it worked.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import Distribution, distributions
from pathlib import Path

OPTIONAL = ("dash", "dask", "lifelines", "matplotlib", "openpyxl", "pyarrow", "rich", "sksurv", "typer")


def main() -> int:
    """Try every archive, or run the checks inside an environment that was made for one."""
    parser = argparse.ArgumentParser(description="Install what was built outside the clone and use it.")
    parser.add_argument("archives", nargs="*", type=Path, metavar="ARCHIVE", help="the newest wheel and sdist in dist/ unless given")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        check_licences()
        check_optional()
        check_use()
        check_command_line()
        return 0
    failed = [archive.name for archive in arguments.archives or newest_archives() if not works(archive)]
    if failed:
        print(f"FAILED: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def works(archive: Path) -> bool:
    """Install an archive into a new environment and run the checks there."""
    print(f"--- {archive.name} ---", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        venv.create(environment, with_pip=True)
        python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(archive.resolve())]
        if subprocess.run([str(python), "-I", *install], cwd=folder, check=False).returncode != 0:
            return False
        script = Path(folder, "smoke.py")  # a copy, so that nothing of the clone can be imported
        script.write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
        return subprocess.run([str(python), "-I", str(script), "--inside"], cwd=folder, check=False).returncode == 0


def newest_archives() -> list[Path]:
    """The wheel and the source archive that were built last."""
    out = []
    for pattern in ("harmonium-*.whl", "harmonium-*.tar.gz"):
        built = sorted(Path("dist").glob(pattern), key=lambda path: path.stat().st_mtime)
        if not built:
            sys.exit(f"there is no {pattern} in dist/: run `python -m build` first")
        out.append(built[-1])
    return out


def licence(distribution: Distribution) -> str:
    """What a distribution states in short: its expression, its classifiers, or the first line of its licence."""
    metadata = distribution.metadata
    stated = [line for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    expression = metadata.get("License-Expression")
    if expression:
        stated.append(expression)
    elif not stated:
        stated.append((metadata.get("License") or "").strip().split("\n")[0])  # some put the whole text here
    return "; ".join(stated)


def check_licences() -> None:
    """No distribution is under a GPL; runtime libraries with an exception, as compilers ship them, are not meant."""
    stated = {distribution.metadata["Name"]: licence(distribution) for distribution in distributions()}
    exception = r"\S*GPL\S* WITH \S*exception\S*"
    copyleft = {name: text for name, text in stated.items() if re.search(r"GPL|GNU", re.sub(exception, "", text))}
    assert not copyleft, f"copyleft licences among the dependencies: {copyleft}"
    print(f"{len(stated)} distributions, none under a GPL: {', '.join(sorted(stated, key=str.lower))}")


def check_optional() -> None:
    """What belongs to extras was not installed."""
    present = [name for name in OPTIONAL if importlib.util.find_spec(name) is not None]
    assert not present, f"installed without having been asked for: {present}"


def check_use() -> None:
    """Fit, predict, evaluate, save and load, on a table with two endpoints, text, and missing values."""
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    import harmonium as hm  # noqa: PLC0415

    rng = np.random.default_rng(0)
    n = 120
    age, stage = rng.normal(60.0, 10.0, n), rng.choice(["I", "II", "III"], n)
    rate = np.exp(0.03 * (age - 60.0) + 0.5 * (stage == "III"))
    recurrence, death, end = rng.exponential(20.0 / rate), rng.exponential(40.0 / rate), rng.uniform(12.0, 60.0, n)
    table = pd.DataFrame({"age": age, "stage": stage})
    table = table.mask(rng.random(table.shape) < 0.1)
    assert table.isna().any(axis=None)
    for name, time in {"recurrence": recurrence, "death": death}.items():
        table[f"{name}_time"], table[f"{name}_event"] = np.minimum(time, end), (time <= end).astype(int)
    y = hm.endpoints(table, recurrence=("recurrence_time", "recurrence_event"), death=("death_time", "death_event"))
    X = table[["age", "stage"]]

    model = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    survival = model.predict_survival_function(X, endpoint="death", times=[6.0, 12.0, 24.0], return_array=True)
    assert survival.shape == (n, 3)
    assert ((survival >= 0.0) & (survival <= 1.0)).all()
    assert (np.diff(survival, axis=1) <= 0.0).all(), "survival must not rise"

    scores = hm.evaluate(model, X, y)
    assert list(scores.index) == ["recurrence", "death"]
    assert scores["concordance"].between(0.5, 1.0).all(), scores["concordance"]
    print(scores.T.to_string())

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.harmonium")
        model.save(path)
        again = hm.load(path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    print(f"harmonium {hm.__version__} on Python {sys.version.split()[0]}: fitted, predicted, evaluated, saved and loaded")


def check_command_line() -> None:
    """Without the extra that it needs, the command says which one that is."""
    command = Path(sys.executable).with_name("harmonium.exe" if sys.platform == "win32" else "harmonium")
    done = subprocess.run([str(command), "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 2, f"exit code {done.returncode}:\n{done.stdout}{done.stderr}"
    assert "harmonium[cli]" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    print(f"the command line says: {done.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main())
