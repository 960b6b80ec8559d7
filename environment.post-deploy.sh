#!/usr/bin/env bash
# Snakemake runs this in the environment that it has just built from environment.yml, in the folder of the run: the package
# itself comes from the checkout that the workflow names, so that an edit of it needs no new environment, or else from the
# package index. A package in the folder of the run is never installed: it may be a stranger's.
set -euo pipefail
checkout=${CORTEXDSL_CHECKOUT:-}
if [ -n "$checkout" ] && [ -f "$checkout/pyproject.toml" ]; then
    python -m pip install --no-deps --no-build-isolation --quiet --editable "$checkout" ||
        python -m pip install --no-deps --quiet --editable "$checkout"
else
    python -m pip install --no-deps --quiet cortexdsl
fi
