"""
Training history
================

The optimiser's six short runs, the best carried on, and the last with the prior that the data chose; validation below.
"""

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
test = X.sample(80, random_state=3).index
train = X.index.difference(test)
model = hm.SurvivalHarmonium(random_state=0).fit(X.loc[train], y.loc[train], validation=(X.loc[test], y.loc[test]))

hm.plots.training_history(model)
