"""One loss per file, on tensors."""

from tqnet.objectives.classification import concept_classification
from tqnet.objectives.cross_modal import cross_modal_infonce
from tqnet.objectives.disentangling import dependence, mutual_information
from tqnet.objectives.infonce import infonce
from tqnet.objectives.nt_xent import nt_xent
from tqnet.objectives.pair import draw_pairs, even_odds, pair_logistic
from tqnet.objectives.reconstruction import figure_reconstruction
from tqnet.objectives.rince import rince
from tqnet.objectives.skip_gram import skip_gram
from tqnet.objectives.supervised_contrastive import supervised_contrastive

__all__ = [
    "concept_classification",
    "cross_modal_infonce",
    "dependence",
    "draw_pairs",
    "even_odds",
    "figure_reconstruction",
    "infonce",
    "mutual_information",
    "nt_xent",
    "pair_logistic",
    "rince",
    "skip_gram",
    "supervised_contrastive",
]
