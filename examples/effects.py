"""
What goes with what
===================

Effects of covariates on recurrence and death in the NVALT-8 trial, as differences in the probability of no event at two years between
levels or quartiles, standardised over the patients, with 95 % intervals. Two hundred patients show little with certainty.
"""

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
model = hm.SurvivalHarmonium(random_state=0).fit(X, y)

columns = ["arm", "T-stage", "N-stage", "performance_status", "gender_female", "age", "smoker", "bmi"]
table = model.summary(X, time=24, until=48)
hm.plots.effects(table.loc[columns])
