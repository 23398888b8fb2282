"""BSS, the Boot Script Service: iPXE scripts and cloud-init data of nodes. Facts from hms-bss v1.37.0."""
