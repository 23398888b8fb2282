"""TAPMS, the tenant and partition management system: a read-only view of tenants, and the operator behind them."""
