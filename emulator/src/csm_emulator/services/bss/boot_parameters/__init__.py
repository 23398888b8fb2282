"""``/bootparameters``: the kernel, initrd and parameters of nodes."""
