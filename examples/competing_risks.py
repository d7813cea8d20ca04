"""
When death competes
===================

Simulated patients who relapse or die first. One minus the survival curve of relapse says how many would relapse if nobody died; the
proportion that does relapse is lower. The model knows it too, if it is asked for relapse *before* death.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sksurv.nonparametric import cumulative_incidence_competing_risks

import harmonium as hm

rng = np.random.default_rng(0)
x = rng.normal(size=1000)
relapse, death = rng.exponential(30 * np.exp(-0.5 * x)), rng.exponential(30 * np.exp(-0.3 * x))
end = rng.uniform(24, 60, size=1000)
first = np.minimum.reduce([relapse, death, end])
kind = np.select([first == relapse, first == death], [1, 2], 0)
table = pd.DataFrame({"x": x, "months": first, "relapse": kind == 1, "alive until": np.minimum(death, end), "dead": death < end})
y = hm.endpoints(table, relapse=("months", "relapse"), death=("alive until", "dead"))
model = hm.SurvivalHarmonium(random_state=0).fit(table[["x"]], y)

times = np.linspace(0, 48, 97)
alone = 1 - model.predict_survival_function(table[["x"]], endpoint="relapse", times=times, return_array=True).mean(axis=0)
drawn_relapse, drawn_death = np.moveaxis(model.draw_times(table[["x"]], n_draws=50, random_state=0), -1, 0)
before_death = [np.mean((drawn_relapse <= t) & (drawn_relapse < drawn_death)) for t in times]
seen, incidence = cumulative_incidence_competing_risks(kind, first)

_, ax = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
ax.plot(times, alone, "--", color="#D55E00", label="harmonium: one minus survival of relapse")
ax.step(seen[seen <= 48], incidence[1, seen <= 48], where="post", color="0.15", label="observed: Aalen–Johansen")
ax.plot(times[8:-8:8], before_death[8:-8:8], "o", color="#0072B2", label="harmonium: relapse before death")
ax.set(xlabel="Months", ylabel="Proportion of patients", ylim=(0, None), xlim=(0, 48))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()
