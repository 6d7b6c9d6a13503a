"""One small file for each figure."""
