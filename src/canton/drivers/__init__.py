"""HOW WE REACH THE WORLD: one package per system, each implementing contracts.

A driver imports contracts and the domain, never the store, the API or another driver. Errors of its libraries end
here, chained to one of ours.
"""
