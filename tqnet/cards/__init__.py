"""The README.md beside a trained model: what it is, how it came about, and how to load it."""

from tqnet.cards.folder import write_card
from tqnet.cards.probe import write_probe_card

__all__ = ["write_card", "write_probe_card"]
