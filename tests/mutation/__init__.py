"""Changes the code one small thing at a time, to see whether a test notices."""
