"""Self-contained pages about a model and the study it was fitted to."""

from harmonium.report.study import study_report

__all__ = ["study_report"]
