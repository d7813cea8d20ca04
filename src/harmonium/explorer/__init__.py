"""The interactive page, ``harmonium explore``: what a model says of a patient, of scenarios, of two endpoints together and of a cohort.

No modelling logic, and no state: what is typed or dropped stays in the browser and comes along with every question. Needs Dash, the
extra ``explorer``; :mod:`harmonium.explorer.app` makes the application, :mod:`harmonium.explorer.server` serves it.
"""
