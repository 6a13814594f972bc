"""How good vectors are: similar questions, knowledge points, and a report to show.

Nothing here loads a model. Torch, scikit-learn, bm25s and matplotlib are imported when they are first needed.
"""

from tqnet.evaluation.linear_probe import LinearProbe
from tqnet.evaluation.plots import DARK, LIGHT, knowledge_maps, read_series, stage_bars, training_curves, tsne
from tqnet.evaluation.probe import LevelResult, ProbeResult, ProbeScores, evaluate_probe, probe_splits
from tqnet.evaluation.ranking import Bm25Ranker, Ranker, TfidfRanker, VectorRanker, lexical_tokens
from tqnet.evaluation.report import write_report
from tqnet.evaluation.similar import PairedDifference, RankingScores, SimilarResult, evaluate_similar, paired_difference
from tqnet.evaluation.table import StageResult, Table, probe_table, render, stage_table, structure_table, to_dict

__all__ = [
    "DARK",
    "LIGHT",
    "Bm25Ranker",
    "LevelResult",
    "LinearProbe",
    "PairedDifference",
    "ProbeResult",
    "ProbeScores",
    "Ranker",
    "RankingScores",
    "SimilarResult",
    "StageResult",
    "Table",
    "TfidfRanker",
    "VectorRanker",
    "evaluate_probe",
    "evaluate_similar",
    "knowledge_maps",
    "lexical_tokens",
    "paired_difference",
    "probe_splits",
    "probe_table",
    "read_series",
    "render",
    "stage_bars",
    "stage_table",
    "structure_table",
    "to_dict",
    "training_curves",
    "tsne",
    "write_report",
]
