"""Canton: hand parts of one supercomputer to other institutions, with proved separation."""

__version__ = "0.2.0.dev0"
