"""BSS, the Boot Script Service: what each node boots, as an iPXE script, and cloud-init. Facts from hms-bss v1.37.0."""
