"""
Receptive fields
================

What each hidden unit stands for: the change of every column when the unit goes from off to on.
"""

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
model = hm.SurvivalHarmonium(random_state=0).fit(X, y)

hm.plots.receptive_fields(model, X, given=y)
