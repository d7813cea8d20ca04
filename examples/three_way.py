"""
The three-way problem
=====================

Two event times that tell a colour only together: the marginals of both colours are nearly the same. A Cox model of either time finds
nothing here; four hidden units find all of it.
"""

import harmonium as hm

X, y = hm.datasets.make_three_way(1000, random_state=0)
model = hm.SurvivalHarmonium(objective="joint", time_scale="linear", horizon=1, random_state=0).fit(X, y)

hm.plots.joint_density(model, endpoints=("t1", "t2"), by="colour", until=(1, 1), observed=(X[:500], y[:500]))
