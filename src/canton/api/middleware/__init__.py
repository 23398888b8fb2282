"""What happens to every request before a route sees it: limits, rates, bodies, versions. Knows no noun."""
