"""One loss per file, on tensors."""

from tqnet.objectives.classification import concept_classification
from tqnet.objectives.cross_modal import cross_modal_infonce
from tqnet.objectives.disentangling import dependence, mutual_information
from tqnet.objectives.in_batch import in_batch_infonce
from tqnet.objectives.infonce import infonce
from tqnet.objectives.masked_tokens import masked_token_prediction
from tqnet.objectives.multiple_negatives import multiple_negatives_ranking
from tqnet.objectives.nt_xent import nt_xent
from tqnet.objectives.pair import draw_pairs, even_odds, pair_logistic
from tqnet.objectives.reconstruction import figure_reconstruction
from tqnet.objectives.rince import rince
from tqnet.objectives.skip_gram import skip_gram
from tqnet.objectives.soft_labels import soft_label_classification
from tqnet.objectives.supervised_contrastive import supervised_contrastive
from tqnet.objectives.triplet import cosine_triplet, euclidean_triplet

__all__ = [
    "concept_classification",
    "cosine_triplet",
    "cross_modal_infonce",
    "dependence",
    "draw_pairs",
    "euclidean_triplet",
    "even_odds",
    "figure_reconstruction",
    "in_batch_infonce",
    "infonce",
    "masked_token_prediction",
    "multiple_negatives_ranking",
    "mutual_information",
    "nt_xent",
    "pair_logistic",
    "rince",
    "skip_gram",
    "soft_label_classification",
    "supervised_contrastive",
]
