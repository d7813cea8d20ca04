"""
How many hidden units
=====================

Log-likelihood of patients of the NVALT-8 trial, in training and held out in three folds. Beyond two hidden units the fit keeps
improving, while predictions for patients whom the model has not seen hardly do. Bars: one standard error of the difference from four units.
"""

import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
X = X.replace({"N-stage": {"Nx": None}, "stage": {"other": None}})  # in one and two patients: missing rather than levels
sizes = [0, 1, 2, 3, 4, 6]
in_training, held_out = np.zeros((2, len(sizes), len(X)))
folds = hm.metrics.MultiEndpointStratifiedKFold(3, shuffle=True, random_state=0)
for train, test in folds.split(X, y):
    for i, size in enumerate(sizes):
        model = hm.SurvivalHarmonium(size, trainer=hm.Exact(n_starts=1), random_state=0).fit(X.iloc[train], y.iloc[train])
        in_training[i, train] += model.log_likelihood(X.iloc[train], y.iloc[train]) / 2  # each patient is in two training sets
        held_out[i, test] = model.log_likelihood(X.iloc[test], y.iloc[test])

difference = held_out - held_out[sizes.index(4)]
error = difference.std(axis=1) / np.sqrt(len(X))

_, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
ax.plot(sizes, in_training.mean(axis=1), "^--", color="#D55E00", label="in training")
ax.errorbar(sizes, held_out.mean(axis=1), error, fmt="o-", color="#0072B2", capsize=3, label="held out")
ax.set(xlabel="Hidden units", ylabel="Log-likelihood per patient (nats)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.show()
