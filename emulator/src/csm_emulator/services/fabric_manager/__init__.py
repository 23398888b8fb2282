"""The Slingshot Fabric Manager: documents about the high-speed network, and what becomes of them on the switches.

HPE publishes no description of it. What clients read and write is from public clients' code; the rest is inferred, and
is said to be so where it stands. Nothing of the network's truth lives here: this tells switches what to do, later.
"""
