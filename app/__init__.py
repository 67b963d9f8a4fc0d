"""Candor's window. Never imports a model library; of the engine it knows contracts and client."""
