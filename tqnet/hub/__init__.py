"""Trained models in other people's libraries: model cards, sentence-transformers, mteb."""
