"""How the languages and libraries of the real services read and write: Go, Flask with connexion, HMS. Knows no
service.
"""
