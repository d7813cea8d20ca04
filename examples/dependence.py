"""
Dependence between endpoints
============================

Overall and recurrence-free survival go together, and covariates explain little of it; bars are 95 % intervals.
"""

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
model = hm.SurvivalHarmonium(random_state=0).fit(X, y)

hm.plots.dependence(model.dependence(X, interval=0.95))
