"""The three-way problem, solved in closed form: two event times that tell a colour only together.

Red subjects have both events early or both late, blue ones have one early and one late; each time alone says nothing about the
colour. A harmonium with four hidden units, one for each blob, represents this density (docs/model.md, section 6). Its parameters
are written down here rather than learned; density, normalisation and marginals are computed by the exact engine, and the dots are
drawn by the sampled one. Leaves ``demo/three_way.png``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.engine.exact import log_mass
from harmonium.engine.gibbs import Chains
from harmonium.engine.parameters import Parameters
from harmonium.units import Bernoulli, TruncatedGamma
from harmonium.units.truncated_gamma import interval_mass

mpl.use("agg")
import matplotlib.pyplot as plt

LAYOUT = Layout([Bernoulli(), TruncatedGamma(), TruncatedGamma()])
EARLY, LATE = (8.127, 28.508), (58.233, 76.310)  # (shape, rate): modes at 1/4 and 3/4, variance about 1/100
BLOBS = [(0, EARLY, EARLY), (0, LATE, LATE), (1, LATE, EARLY), (1, EARLY, LATE)]
# Name, shade, line and marker; red comes last, dashed, so that blue shows through where both lie on each other.
COLOURS = {1: ("blue", "#2458a6", "-", "."), 0: ("red", "#c0392b", "--", "^")}


def closed_form(clamp: float = 60.0, background: float = -7.0) -> Parameters:
    """One hidden unit for each blob.

    ``clamp`` ties a blob to its colour; ``background`` is how far, in logarithm, the density without any blob lies below them.
    """
    colour = np.array([blob[0] for blob in BLOBS], dtype=float)
    shape, rate = (np.array([[time[i] for time in blob[1:]] for blob in BLOBS]).T for i in (0, 1))
    mode = (shape - 1.0) / rate
    w = -clamp * (colour - 0.5)
    bias = -w * colour + np.sum((shape - 1.0) * (np.log(mode) - 1.0), axis=0) + background
    times = {"W": rate, "V": shape - 1.0, "a": np.zeros(2), "c": np.zeros(2)}
    return Parameters(LAYOUT, bias, ({"W": w[None, :], "a": np.zeros(1)}, times))


def generating_density(colour: int, t1: np.ndarray, t2: np.ndarray) -> np.ndarray:
    """The mixture of truncated gammas that the closed form approximates."""
    total = np.zeros(np.broadcast_shapes(t1.shape, t2.shape))
    for blob_colour, *times in BLOBS:
        if blob_colour == colour:
            logs = [
                (shape - 1) * np.log(t) - rate * t - interval_mass(shape, rate, 0, 1)[0]
                for t, (shape, rate) in zip((t1, t2), times, strict=True)
            ]
            total = total + 0.25 * np.exp(logs[0] + logs[1])
    return total


def model_density(model: Parameters, colour: int, t1: np.ndarray, t2: np.ndarray) -> np.ndarray:
    """p(colour, t1, t2); a time that is NaN is integrated out."""
    t1, t2 = np.broadcast_arrays(t1, t2)
    rows = np.column_stack([np.full(t1.size, float(colour)), t1.ravel(), t2.ravel()])
    log_z = log_mass(model, Cells.all_free(LAYOUT))
    return np.exp(log_mass(model, Cells.from_bounds(LAYOUT, rows)) - log_z).reshape(t1.shape)


def draw_cohort(model: Parameters, n: int, rng: np.random.Generator) -> np.ndarray:
    """Subjects of a long Gibbs run, each chain started in a blob of its own so that none is missed."""
    blob = rng.integers(len(BLOBS), size=n)
    modes = [(colour, *((shape - 1) / rate for shape, rate in times)) for colour, *times in BLOBS]
    chains = Chains.start(model, Cells.all_free(LAYOUT, n), rng, values=np.array(modes)[blob])
    chains.sweep(model, n_sweeps=50)
    return chains.values


def draw_panel(figure, cell, density, title, cohort=None):
    """Contours by colour, with the marginal of each time by colour on the sides."""
    grid = cell.subgridspec(2, 2, width_ratios=[4, 1], height_ratios=[1, 4], wspace=0.06, hspace=0.06)
    joint = figure.add_subplot(grid[1, 0])
    above, beside = figure.add_subplot(grid[0, 0], sharex=joint), figure.add_subplot(grid[1, 1], sharey=joint)
    t = np.linspace(0.005, 0.995, 199)
    for colour, (name, shade, line, marker) in COLOURS.items():
        joint.contour(t, t, density(colour, t[None, :], t[:, None]), levels=[0.4, 1.2, 2.4, 3.6], colors=shade, linestyles=line)
        above.plot(t, density(colour, t, None), color=shade, linestyle=line, label=name)
        beside.plot(density(colour, None, t), t, color=shade, linestyle=line)
        if cohort is not None:
            chosen = cohort[cohort[:, 0] == colour]
            size = 3.5 if marker == "." else 2.5
            joint.plot(chosen[:, 1], chosen[:, 2], marker, color=shade, markersize=size, alpha=0.4, markeredgewidth=0, zorder=0)
    joint.set(xlabel="first event time $t_1$", ylabel="second event time $t_2$", xlim=(0, 1), ylim=(0, 1), aspect="auto")
    above.set_title(title, loc="left", fontsize=11)
    above.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5), handlelength=2.6)
    for axis in (above, beside):  # marginal densities of one time for each colour
        axis.tick_params(labelleft=False, labelbottom=False, length=0)
        for spine in axis.spines.values():
            spine.set_visible(False)
    above.set_ylim(0, None)
    beside.set_xlim(0, None)


def main() -> None:
    """Compare the closed form with the generator, in numbers and in a figure."""
    model = closed_form()
    nodes, weights = np.polynomial.legendre.leggauss(60)
    nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
    t = np.linspace(0.005, 0.995, 199)
    grids = t[None, :], t[:, None]

    def generator(colour, t1, t2):
        if t1 is None:
            return generating_density(colour, nodes[:, None], t2).T @ weights
        return generating_density(colour, t1, nodes[:, None]).T @ weights if t2 is None else generating_density(colour, t1, t2)

    def harmonium(colour, t1, t2):
        return model_density(model, colour, np.array(np.nan) if t1 is None else t1, np.array(np.nan) if t2 is None else t2)

    worst = max(np.abs(harmonium(c, *grids) - generator(c, *grids)).max() for c in (0, 1))
    total = sum(np.sum(weights * harmonium(c, nodes, None)) for c in (0, 1))
    print("The three-way problem in closed form, by the exact engine:")
    print(f"  ln Z                              {log_mass(model, Cells.all_free(LAYOUT))[0]:.4f}")
    print(f"  total probability (quadrature)    {total:.9f}")
    print(f"  largest difference of densities   {worst:.2f}  (the blobs' peaks are about 4)")
    for colour, *times in BLOBS:
        mode = [np.array((shape - 1) / rate) for shape, rate in times]
        found, wanted = harmonium(colour, *mode), generator(colour, *mode)
        print(f"  density at {COLOURS[colour][0]:>4} ({mode[0]:.2f}, {mode[1]:.2f})      {found:.2f}  (generator {wanted:.2f})")

    figure = plt.figure(figsize=(10.5, 5.4))
    outer = figure.add_gridspec(1, 2, wspace=0.16, left=0.06, right=0.99, top=0.93, bottom=0.09)
    draw_panel(figure, outer[0], generator, "a  the generating density")
    cohort = draw_cohort(model, 1000, np.random.default_rng(0))
    draw_panel(figure, outer[1], harmonium, "b  a harmonium with four hidden units", cohort)
    path = Path("demo") / "three_way.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=160)
    print(f"\nLook at {path}: neither side panel tells the colours apart, the joint density does.")


if __name__ == "__main__":
    main()
