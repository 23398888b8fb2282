"""VNID: assigns Slingshot's virtual network identifiers (VNIs)."""
