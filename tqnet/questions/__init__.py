"""Questions, their banks, and what can be computed from a bank alone."""

from tqnet.questions.bank import QuestionBank
from tqnet.questions.check import BankReport, check_bank
from tqnet.questions.hierarchy import KnowledgeHierarchy, load_bank
from tqnet.questions.leakage import Contamination, Double, find_contamination
from tqnet.questions.question import SPLITS, BankError, Fault, FieldError, KnowledgePath, Question
from tqnet.questions.reading import read_question, write_question
from tqnet.questions.similarity import Similarity

__all__ = [
    "SPLITS",
    "BankError",
    "BankReport",
    "Contamination",
    "Double",
    "Fault",
    "FieldError",
    "KnowledgeHierarchy",
    "KnowledgePath",
    "Question",
    "QuestionBank",
    "Similarity",
    "check_bank",
    "find_contamination",
    "load_bank",
    "read_question",
    "write_question",
]
