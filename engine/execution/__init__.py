"""The execution core: sessions, the shared scheduler, row sampling. No MLX."""
