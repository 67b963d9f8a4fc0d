"""Tests of conversations from files."""
