"""From pairs to weights: adapters trained by TRL and PEFT, and merged into a folder like any other model's.

Nothing is fetched meanwhile and nobody is told: what is trained from lies here. The libraries read so when they are
imported, hence here, before any module of this package imports them.
"""

import os

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", TOKENIZERS_PARALLELISM="false")
