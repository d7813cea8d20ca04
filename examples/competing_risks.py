"""
When death competes
===================

Simulated patients who relapse or die first. One minus the survival curve of relapse says how many would relapse if nobody died; the
proportion that does relapse is lower. A model that knows that death is terminal predicts that proportion.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import harmonium as hm

rng = np.random.default_rng(0)
x = rng.normal(size=1000)
relapse, death = rng.exponential(30 * np.exp(-0.5 * x)), rng.exponential(30 * np.exp(-0.3 * x))
end = rng.uniform(24, 60, size=1000)
first = np.minimum.reduce([relapse, death, end])
table = pd.DataFrame({"x": x, "months": first, "relapse": first == relapse, "alive until": np.minimum(death, end), "dead": death < end})
definitions = {"relapse": ("months", "relapse"), "death": ("alive until", "dead")}
silent, told = (hm.endpoints(table, **definitions, terminal=terminal) for terminal in ((), "death"))

times = np.linspace(0, 48, 97)
predicted = []
for y in (silent, told):
    model = hm.SurvivalHarmonium(random_state=0).fit(table[["x"]], y)
    predicted.append(model.predict_cumulative_incidence(table[["x"]], endpoint="relapse", times=times).mean(axis=0))
observed = hm.metrics.aalen_johansen(told, times, endpoint="relapse")

_, ax = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
ax.plot(times, predicted[0], "--", color="#D55E00", label="harmonium: one minus survival of relapse")
ax.step(times, observed, where="post", color="0.15", label="observed: Aalen–Johansen")
ax.plot(times[8:-8:8], predicted[1][8:-8:8], "o", color="#0072B2", label="harmonium: cumulative incidence, death being terminal")
ax.set(xlabel="Months", ylabel="Proportion of patients", ylim=(0, None), xlim=(0, 48))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()
