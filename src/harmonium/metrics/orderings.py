"""Former name of :mod:`harmonium.metrics.multi_endpoint`, until ``model/predictions.py`` and ``search.py`` import that one."""

from harmonium.metrics.multi_endpoint import global_concordance

__all__ = ["global_concordance"]
