# make demo    set up, run the quickstart experiment, print its report (needs Python 3.11+ and nothing else)
# make tiny    the same with five small language models instead of the built-in solver (docs/zoo.md)
# make worth   is debate worth its compute? the same models, with matched budgets (docs/worth.md)
# make test    every test            make check   style, types, layers, workflow, manual
# make mutants    do the tests notice mistakes? (SAMPLE=200 ROOM=engine; hours)
# make faults     every state of a power cut, long random histories (half an hour)
# make soak    a million calls in bounded memory (CALLS=1000000; quarter of an hour on a quiet machine)
# make lock    pin all dependencies  make clean   remove the environment and caches (never results)

SHELL := bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

CORES ?= 2
WORKERS ?= $(shell expr $(CORES) + 1)
# of the tests: one more than cores, as some tests wait for servers and other processes
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input
LOCKED := --require-hashes --no-build-isolation
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header

# A spec's jobs start the programs that were installed here (python, snakemake, cortexdsl).
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help browser demo tiny files worth mutants promises faults soak fuzz sbom wheel test check lint types layers workflow docs gallery site changelog setup dev train logs lock clean

help:  ## print the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

demo: setup  ## set up, run the quickstart, print its report
	@$(BIN)/snakemake --cores $(CORES) --quiet rules host -- results/quickstart/report.html
	@$(BIN)/cortexdsl report results/quickstart --text

tiny: setup  ## five language models that ship with the package debate
	@$(BIN)/snakemake --cores $(CORES) --quiet rules host --config spec=tiny -- results/tiny/report.html
	@$(BIN)/cortexdsl report results/tiny --text

files: setup  ## the debates of `make tiny` in files that an engine answers, without any server
	@$(BIN)/snakemake --cores $(CORES) --quiet rules host --config spec=files -- results/files/report.html
	@$(BIN)/cortexdsl report results/files --text

worth: setup  ## is debate worth its compute? (about ten minutes), then the tables and figures of docs/worth.md
	@$(BIN)/snakemake --cores $(CORES) --quiet rules host --config spec=worth -- results/worth/report.html
	@$(BIN)/python benchmarks/models/worth.py
	@$(BIN)/cortexdsl report results/worth --text

# Browser tests drive the distribution's Chromium; where it cannot be installed from here they are skipped.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	    [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null && \
	    echo "Installing Chromium for the browser tests" && \
	    apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; \
	} >&2 || echo "No Chromium: browser tests will be skipped (apt-get install chromium)" >&2

test: dev browser  ## run every test
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: lint types layers workflow docs  ## style, types, layers, workflow, manual

lint: dev  ## ruff: rules and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: dev  ## mypy, strict; of benchmarks, that what they call is there
	@$(BIN)/mypy
	@$(BIN)/mypy --config-file benchmarks/mypy.ini

layers: dev  ## imports go one way
	@$(BIN)/lint-imports

workflow: dev  ## snakefmt and Snakemake's own linter
	@$(BIN)/snakefmt --check Snakefile workflows
	@$(BIN)/snakemake --lint

setup: $(VENV)/.run  ## install what running needs
dev: $(VENV)/.dev  ## install what developing needs, too

# ------------------------------------------------------------------ the environment, made once
# The stamps are inside .venv, so removing .venv is the one way to start from scratch.
$(BIN)/python:
	@for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    echo "Setting up in $(VENV) with $$("$$python" --version) (once; about a minute)"; \
	    "$$python" -m venv --clear $(VENV) && exit 0; \
	    rm -rf $(VENV); \
	    echo "$$python cannot make a virtual environment." >&2; \
	    echo "On Debian and Ubuntu: apt-get install python3-venv. Or name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	    exit 1; \
	done; \
	echo "cortexdsl needs Python 3.11 or newer; none of these is: $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)" >&2; \
	echo "Install it (python.org, conda, pyenv ...) and name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; \
	exit 1

# The installer and the build backends come first, so that packages without a wheel build with pinned tools.
$(VENV)/.build: locks/build.lock.txt | $(BIN)/python
	@$(INSTALL) --require-hashes -r $<
	@touch $@

$(VENV)/.run: locks/run.lock.txt pyproject.toml $(VENV)/.build
	@echo "Installing what running needs (locks/run.lock.txt, hashes checked)"
	@$(INSTALL) $(LOCKED) -r $<
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: locks/dev.lock.txt $(VENV)/.run
	@echo "Installing what developing needs, too (locks/dev.lock.txt, hashes checked)"
	@$(INSTALL) $(LOCKED) -r $<
	@touch $@

# PyTorch is not locked: which of its builds is right depends on the machine. TORCH names a wheel to use instead.
train: dev  ## install what training needs, too
	@echo "Installing what training needs (PyTorch, then locks/train.lock.txt, hashes checked)"
	@$(INSTALL) $(if $(TORCH),--no-deps $(TORCH),torch==2.13.0)
	@$(INSTALL) $(LOCKED) --no-deps -r locks/train.lock.txt

# In an environment of its own: inspect-ai wants other versions than those that are pinned for running.
logs: dev  ## install Inspect and lm-evaluation-harness, which write logs for tests/logs, in build/logs and build/harness
	@$(BIN)/uv venv --quiet --allow-existing build/logs
	@$(BIN)/uv pip install --quiet --python build/logs --require-hashes -r locks/logs.lock.txt
	@$(BIN)/uv pip install --quiet --python build/logs --no-deps --editable .
	@$(BIN)/uv venv --quiet --allow-existing build/harness
	@$(BIN)/uv pip install --quiet --python build/harness --require-hashes -r locks/harness.lock.txt

promises: dev  ## can the tests of docs/benchmarks/guarantees.md fail? (NAMES="15 21"; hours)
	@$(BIN)/python benchmarks/house/promises.py $(NAMES)

mutants: dev  ## mutants of engine, claims, metrics and stats that the tests let live (SAMPLE=200 of each room; ROOM=engine)
	@$(BIN)/python benchmarks/house/mutants.py --sample $(or $(SAMPLE),200) $(if $(ROOM),--room $(ROOM))

fuzz: dev  ## read mutated input for SECONDS=60 each (TARGETS="claims specs"; tests/fuzz)
	@$(BIN)/python tests/fuzz/fuzz.py $(TARGETS) --seconds $(if $(filter file command%,$(origin SECONDS)),$(SECONDS),60)

sbom: setup  ## bill of materials (CycloneDX) in dist/, and a check of all licences
	@$(BIN)/python locks/sbom.py --out dist/cortexdsl.cdx.json

# From two copies of the last commit whose files have other ages; SOURCE_DATE_EPOCH is the time of that commit.
wheel: dev  ## build the wheel twice, and compare the bytes
	@rm -rf build/wheel && mkdir -p dist build/wheel/1 build/wheel/2
	@for copy in 1 2; do \
	    git archive HEAD | tar -x -m -C build/wheel/$$copy && find build/wheel/$$copy -exec touch -d "20$$copy""1-01-01" {} + && \
	    (cd build/wheel/$$copy && SOURCE_DATE_EPOCH=$$(git -C $(CURDIR) log -1 --format=%ct) $(CURDIR)/$(BIN)/hatchling build -t wheel -d $(CURDIR)/build/wheel/$$copy-dist >/dev/null) || exit 1; \
	done
	@cmp build/wheel/1-dist/*.whl build/wheel/2-dist/*.whl && cp build/wheel/1-dist/*.whl dist/ && sha256sum dist/*.whl && rm -rf build/wheel

faults: dev  ## every state that a power cut may leave of a small run, and long random histories (half an hour)
	@$(BIN)/python -m pytest -q -s tests/faults tests/histories --thorough

soak: dev  ## a million calls in bounded memory, files and descriptors (CALLS=1000000)
	@PYTHONPATH=. $(BIN)/python benchmarks/house/soak.py --calls $(or $(CALLS),1000000)

docs: dev  ## the manual as a site, in build/docs/index.html; a warning or too many words are errors
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/docs
	@$(BIN)/python benchmarks/house/site_words.py --most 60000
	@echo "The manual: build/docs/index.html"

gallery: dev  ## the manual, with reports and explorer sites of shipped specs
	@for spec in quickstart examples/claims examples/whatif; do $(BIN)/cortexdsl run $$spec --cores $(CORES) || exit 1; done
	@$(MAKE) --no-print-directory docs

site: dev  ## the manual of every tagged version and of this commit, in build/site, each page with a list of versions
	@$(BIN)/python docs/site/versions.py build/site

changelog: dev  ## print the next section of CHANGELOG.md from changelog.d/; VERSION=0.3.0 writes it and sets the version
	@$(BIN)/python changelog.d/collect.py $(VERSION)

lock: dev  ## pin all dependencies with hashes (keeps pins that still fit; UPGRADE=1 renews them)
	@$(COMPILE) $(if $(UPGRADE),--upgrade) pyproject.toml -o locks/run.lock.txt
	@$(COMPILE) $(if $(UPGRADE),--upgrade) pyproject.toml --group dev -c locks/run.lock.txt -o locks/dev.lock.txt
	@$(COMPILE) $(if $(UPGRADE),--upgrade) pyproject.toml --extra train -c locks/dev.lock.txt \
	    --override <(echo 'torch; python_version < "3"') -o locks/train.lock.txt
	@$(COMPILE) $(if $(UPGRADE),--upgrade) pyproject.toml --extra logs -o locks/logs.lock.txt
	@$(COMPILE) $(if $(UPGRADE),--upgrade) --group harness -o locks/harness.lock.txt
	@$(COMPILE) $(if $(UPGRADE),--upgrade) --group build -c locks/dev.lock.txt -o locks/build.lock.txt

clean:  ## remove the environment and caches; results stay
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
