"""The MLX side: model loading, rows in a batch, caches, memory."""
