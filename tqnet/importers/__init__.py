"""Other formats of questions, one a file: ``read(job)`` gives the drafts of a source, faults go to the job.

Each module's head says what it is from. `import_bank` makes a bank of any of them.
"""

from tqnet.importers.job import Settings
from tqnet.importers.writing import Imported, import_bank

__all__ = ["Imported", "Settings", "import_bank"]
