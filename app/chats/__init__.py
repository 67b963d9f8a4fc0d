"""Conversations as a tree of values, kept in one SQLite file."""
