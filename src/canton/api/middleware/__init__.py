"""The middleware of every request: limits, rates, bodies, versions. Independent of the nouns of the API."""
