"""Settings that several configurations share; without imports, for they are read while transformers is imported."""

#: What a visual stream may normalise by.
NORMS = ("batch", "frozen", "group")
