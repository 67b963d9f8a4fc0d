"""Every setting declared once."""
