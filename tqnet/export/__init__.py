"""Trained models as graphs that run without PyTorch's Python: written, checked, and found again next to the weights."""
