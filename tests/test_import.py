"""Every module of the models can be imported first, and the Auto classes know TQ-Net after ``import tqnet``."""

import os
import pkgutil
import subprocess
import sys

import pytest

import tqnet.modeling

FIRST_IMPORTS = (
    *(f"import tqnet.modeling.{module.name}" for module in pkgutil.iter_modules(tqnet.modeling.__path__)),
    "from tqnet import TQNetProcessor",
    "import tqnet.training.data",
    "import tqnet; from transformers import AutoConfig; AutoConfig.for_model('quesnet')",
    "import tqnet; from transformers import AutoConfig, AutoModel, AutoProcessor; AutoConfig.for_model('tqnet')",
    "from transformers import AutoModel, AutoProcessor; import tqnet",
)

#: Each in a fork of a process that has only what takes long to load.
FORKS = """
import os, sys
import torch, torchvision, timm, albumentations, datasets, sklearn

for code in sys.argv[1:]:
    if not (child := os.fork()):
        exec(code)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_first_imports() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS, *FIRST_IMPORTS], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
