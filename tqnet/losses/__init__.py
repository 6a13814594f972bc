"""Training losses, each on plain tensors."""
