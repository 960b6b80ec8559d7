"""Train adapters from pairs with TRL and PEFT, and merge them into a model folder.

Nothing is downloaded and nothing is reported. The libraries read these variables when they are imported, so they are
set here, before any module of this package imports them.
"""

import os

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", TOKENIZERS_PARALLELISM="false")
