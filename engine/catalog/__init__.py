"""Models on this machine: found, described, fetched, converted."""
