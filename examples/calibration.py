"""
Calibration
===========

Predicted and observed mortality of 80 patients whom the model has not seen.
"""

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
test = X.sample(80, random_state=3).index
train = X.index.difference(test)
model = hm.SurvivalHarmonium(random_state=0).fit(X.loc[train], y.loc[train])

hm.plots.calibration(model, X.loc[test], y.loc[test], endpoint="os", time=36, n_bins=4, time_label="month")
