#!/usr/bin/env bash
# Snakemake runs this in the environment that it has just built from environment.yml, in the folder of the run: the package
# itself comes from the checkout, so that an edit of it needs no new environment, or else from the package index.
set -euo pipefail
if [ -f pyproject.toml ] && grep -q '^name = "cortexdsl"' pyproject.toml; then
    python -m pip install --no-deps --no-build-isolation --quiet --editable . ||
        python -m pip install --no-deps --quiet --editable .
else
    python -m pip install --no-deps --quiet cortexdsl
fi
