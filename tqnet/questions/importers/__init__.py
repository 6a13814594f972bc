"""Other formats of questions, one a file: ``read(job)`` gives the drafts of a source, faults go to the job.

Each module's head says what it is from. `import_bank` makes a bank of any of them.
"""

from tqnet.questions.importers.job import Settings
from tqnet.questions.importers.writing import Imported, import_bank

__all__ = ["Imported", "Settings", "import_bank"]
