"""The version, which needs nothing else."""

__all__ = ["__version__"]

__version__ = "0.2.0.dev0"
