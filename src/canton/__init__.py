"""Canton: hand parts of one supercomputer to other institutions."""

__version__ = "0.2.0.dev0"
