"""Import of questions in other formats: ``read_NAME(job)`` yields drafts of a source and reports faults to ``job``."""

from tqnet.importers.job import Settings
from tqnet.importers.run import Imported, import_bank

__all__ = ["Imported", "Settings", "import_bank"]
