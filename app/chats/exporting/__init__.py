"""Conversations as files that people and other programs read."""
