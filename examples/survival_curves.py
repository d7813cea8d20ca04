"""
One prognosis, twice
====================

Three patients of the NVALT-8 trial after surgery (dashed) and with what was known a year later (solid); the whole trial in grey. One
model, fitted to both endpoints and to covariates with missing values, answers both.
"""

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
model = hm.SurvivalHarmonium(random_state=0).fit(X, y)

patients = [43, 2, 3]
year = hm.landmark(y, 12).loc[patients]
names = ["A: recurrence at 2.8 months", "B: recurrence at 10.0 months", "C: no recurrence by month 12"]
hm.plots.survival_curves(model, X.loc[patients], endpoint="os", given=year, labels=names, cohort=y, time_label="Months")
