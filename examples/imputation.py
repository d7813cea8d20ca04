"""
What imputation knows
=====================

Left, the distribution of FDG-PET SUVmax where it was measured and as drawn for the patients without a scan. Right, a fifth of the known
values of three columns are hidden: how often draws hit them.
"""

import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
X = X.drop(columns="FDG-PET SUVmax>=10")
X["N-stage"], X["bmi"] = X["N-stage"].where(X["N-stage"] != "Nx"), X["bmi"].where(X["bmi"] < 100)
columns = ["stage", "T-stage", "N-stage"]
model = hm.SurvivalHarmonium(trainer=hm.Exact(n_starts=2), random_state=0)
rng = np.random.default_rng(0)
hidden = {name: rng.permutation(np.flatnonzero(X[name].notna()))[:40] for name in columns}
holes = X.copy()
for name, rows in hidden.items():
    holes.loc[rows, name] = None
frequencies = {name: holes[name].value_counts(normalize=True) for name in columns}
hits = {"frequencies of the column": [X[name][rows].map(frequencies[name]).mean() for name, rows in hidden.items()]}
drawn = [table for table, _ in model.fit(holes, y).impute(holes, y, n_draws=50, random_state=0)]
hits["draws given the rest of the row"] = [
    np.mean([(table[name][rows] == X[name][rows]).mean() for table in drawn]) for name, rows in hidden.items()
]

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
suv = "FDG-PET SUVmax"
no_scan = X[suv].isna()
for k, table in enumerate(drawn[:10]):
    left.ecdf(
        table[suv][no_scan],
        color="#D55E00",
        linewidth=0.8,
        alpha=0.8,
        linestyle="--",
        label=None if k else "31 without, in each of ten draws",
    )
left.ecdf(X[suv].dropna(), color="#0072B2", linewidth=2, label="169 patients with a scan")
left.set(xlabel="FDG-PET SUVmax", ylabel="Proportion of patients below", xlim=(0, 45))
left.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
for (label, proportions), mark, colour in zip(hits.items(), "|o", ["0.15", "#0072B2"], strict=True):
    right.plot(proportions, range(3), mark, color=colour, markersize=14 if mark == "|" else 7, markeredgewidth=2, label=label)
right.set(xlabel="Proportion of draws that are the hidden value", xlim=(0, 1), ylim=(2.6, -0.6), yticks=range(3), yticklabels=columns)
right.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
