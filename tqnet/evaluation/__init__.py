"""How good vectors are: similar questions, knowledge points, and a report to show.

Nothing here loads a model but ``sources``. Torch, scikit-learn, bm25s and matplotlib are imported when first needed.
"""
