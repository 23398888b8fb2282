"""VNID: hands out Slingshot's virtual network identifiers. Only ``site.open_faces`` imports it."""
