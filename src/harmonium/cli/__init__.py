"""The command line, ``harmonium``: from tables in files to models, predictions and cohorts in files. No modelling logic.

A command is one file. What takes long to import is imported when a command runs, so that help is there at once.
"""

from harmonium.cli.app import main

__all__ = ["main"]
