"""
Two endpoints together
======================

Recurrence and death in the NVALT-8 trial, as modelled (regions with 20, 40, 60 and 80 % of the probability) and as observed.
"""

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
model = hm.SurvivalHarmonium(random_state=0).fit(X, y)

hm.plots.joint_density(model, X, endpoints=("rfs", "os"), observed=(X, y), time_labels=("Months to recurrence or death", "Months to death"))
