"""Trained models in other people's libraries. A module here needs its library; nothing else in tqnet does."""
