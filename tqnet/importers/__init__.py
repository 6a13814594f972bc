"""Import of questions in other formats: ``read_NAME(job)`` yields drafts of a source and reports faults to ``job``."""

from tqnet.importers.formats import Imported, import_bank
from tqnet.importers.job import Settings

__all__ = ["Imported", "Settings", "import_bank"]
