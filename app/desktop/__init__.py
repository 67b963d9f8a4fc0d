"""Paths, resources, logging, single instance."""
