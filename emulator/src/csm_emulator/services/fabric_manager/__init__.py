"""The Slingshot Fabric Manager: documents about the high-speed network, and their effect on the switches.

HPE publishes no description of it. The fields that clients read and write are from public clients' code; the rest is
inferred, and marked as such. The state of the network is in ``machine.fabric``: this service changes it, with a delay.
"""
