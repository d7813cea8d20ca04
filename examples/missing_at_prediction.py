"""
Predictions with missing values
===============================

Overall survival of one patient of the NVALT-8 trial, as more becomes known: what is not known is averaged over. The whole trial in grey.
"""

import numpy as np

import harmonium as hm

X, y = hm.datasets.load_nvalt8()
model = hm.SurvivalHarmonium(random_state=0).fit(X, y)

tnm = ["stage", "T-stage", "N-stage"]
known = {"nothing": [], "stage, T, N": tnm, "and age, WHO status": [*tnm, "age", "performance_status"], "everything": list(X)}
is_known = np.array([[column in columns for column in X] for columns in known.values()])
patient = X.loc[[165] * len(known)].where(is_known)

hm.plots.survival_curves(model, patient, endpoint="os", labels=list(known), cohort=y, time_label="Months")
