"""The formats and error texts of the languages and libraries of the real services: Go, Flask with connexion, HMS.

It knows no service.
"""
