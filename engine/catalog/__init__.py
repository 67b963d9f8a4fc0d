"""Models on disk: finding, fetching, importing."""
