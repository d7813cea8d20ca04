"""
A trial and its synthetic twin
==============================

Kaplan-Meier curves of the NVALT-8 trial, and of cohorts that the default model draws: one of 10,000 subjects, and twenty of 200, the size
of the trial.
"""

import matplotlib.pyplot as plt
from sksurv.nonparametric import kaplan_meier_estimator

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
X = X.drop(columns="FDG-PET SUVmax>=10")
X["N-stage"], X["bmi"] = X["N-stage"].where(X["N-stage"] != "Nx"), X["bmi"].where(X["bmi"] < 100)
model = hm.SurvivalHarmonium(random_state=0).fit(X, y)


def draw(ax, y, endpoint, **style):
    """The Kaplan–Meier curve of an endpoint."""
    observed = y[endpoint][y[endpoint, "lower"] > 0]
    time, proportion = kaplan_meier_estimator(observed["lower"] == observed["upper"], observed["lower"])
    ax.step([0.0, *time], [1.0, *proportion], where="post", **style)


figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained", sharey=True)
for ax, endpoint, name in zip(axes, ("os", "rfs"), ("Overall survival", "Recurrence-free survival"), strict=True):
    for seed in range(20):
        label = "synthetic, 20 times 200" if seed == 0 else None
        draw(ax, model.sample(200, censored=True, random_state=seed)[1], endpoint, color="0.75", linewidth=0.7, label=label)
    draw(ax, model.sample(10_000, censored=True, random_state=20)[1], endpoint, color="#D55E00", linestyle="--", label="synthetic, 10,000")
    draw(ax, y, endpoint, color="#0072B2", linewidth=1.8, label="NVALT-8, 200")
    ax.set(title=name, xlabel="Months", xlim=(0, 97), ylim=(0, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("Proportion without event")
axes[0].legend(frameon=False, loc="lower left")
