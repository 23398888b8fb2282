"""One file per noun of the command line; each is imported only when its command runs."""
