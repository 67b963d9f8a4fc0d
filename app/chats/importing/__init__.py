"""Conversations from files of Candor's own and of other programs."""
