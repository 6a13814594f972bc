"""Every module can be the first that is imported, and the Auto classes know TQ-Net after ``import tqnet``."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FIRST_IMPORTS = (
    "from tqnet import TQNetProcessor",
    "import tqnet.training.data",
    "from tqnet import QuesNetModel",
    "import tqnet.modeling.quesnet.configuration",
    "import tqnet; from transformers import AutoConfig; AutoConfig.for_model('quesnet')",
    "import tqnet; from transformers import AutoConfig; AutoConfig.for_model('tqnet')",
    "import tqnet; from transformers import AutoModel, AutoProcessor",
    "from transformers import AutoModel, AutoProcessor; import tqnet",
)


def test_first_imports() -> None:
    def run(code: str) -> str:
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr

    with ThreadPoolExecutor(2) as pool:
        errors = dict(zip(FIRST_IMPORTS, pool.map(run, FIRST_IMPORTS), strict=True))
    assert not {code: error for code, error in errors.items() if "Error" in error}
