"""``/bootparameters``: which kernel, initrd and parameters a node boots with."""
