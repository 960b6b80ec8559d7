"""`python -m cortexdsl`."""

import sys

from cortexdsl.cli.main import main

sys.exit(main())
