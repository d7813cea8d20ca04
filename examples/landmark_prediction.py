"""
A prognosis as it is updated
============================

Three patients of the NVALT-8 trial whom the model has not seen: the probability of being alive five years after surgery, as time passes and
recurrences are found (solid), and had nothing but survival been followed (dotted).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
X["N-stage"] = X["N-stage"].where(X["N-stage"] != "Nx")
aside = [73, 25, 152, 89]
model = hm.SurvivalHarmonium(random_state=0).fit(X.drop(aside), y.drop(aside))

figure, ax = plt.subplots(figsize=(7.6, 3.8), layout="constrained")
names = ["73: no recurrence", "25: recurrence at 10.0", "152: recurrence at 5.3"]
for patient, name, colour, mark in zip(aside, names, ["#0072B2", "#D55E00", "#009E73"], ["o", "^", "s"], strict=False):
    last, recurrence = y.loc[patient, ("os", "lower")], y.loc[patient, ("rfs", "lower")]
    months = np.union1d(np.arange(0.0, 36.0, 0.25), [recurrence - 1e-6, recurrence])
    months = months[months < min(last, 36.0)]
    known = pd.concat([hm.landmark(y.loc[[patient]], month) for month in months])
    for given, style, label in ((known, "-", name), (known[["os"]], ":", None)):
        alive = model.prognosis(X.loc[[patient] * len(months)], given=given).survival("os", 60)[:, 0]
        ax.plot(months, alive, style, color=colour, marker=mark, markevery=(8, 24), markersize=4, label=label)
        if last < 36.0 and style == "-":
            ax.annotate(f"died at {last:.1f}", (months[-1], alive[-1]), (5, -3), textcoords="offset points", fontsize="small")

ax.plot([], [], color="0.15", label="given all that is known")
ax.plot([], [], ":", color="0.15", label="given survival only")
figure.legend(frameon=False, fontsize="small", loc="outside right center")
ax.set(xlim=(0, 36), ylim=(0, 1), xlabel="Landmark (months since surgery)", ylabel="Probability of being alive at month 60")
ax.spines[["top", "right"]].set_visible(False)
