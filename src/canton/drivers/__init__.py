"""Drivers: one package per system, each implementing contracts.

A driver imports contracts and the domain, never the store, the API or another driver. It catches errors of its
libraries and raises one of Canton's from them.
"""
