"""Pods of the cluster as Kubernetes shows them."""
