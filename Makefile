# Everything a developer does, on a machine that has Python >= 3.11, pip and make.
PYTHON ?= python3
BIN := .venv/bin
# Where no bytecode is kept, each process of the tests compiles all modules again. Several threads of BLAS or OpenMP in each
# of several processes would mostly wait for each other.
# Slow tests wait, for processes and pauses: more of them than cores keep the cores busy. Each worker takes time to start.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt
INSTALL := $(PIP_INSTALL) --quiet
# The tests compile what they import; to compile all that is installed takes pip half a minute.
INSTALL_DEV := $(INSTALL) --no-compile

.DEFAULT_GOAL := help
.PHONY: help run runs check test test-slow test-both test-torch test-slurm test-leak tables figures docs site lint format data constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

FILTERED := outputs/jnk3/diverse/off/budget.oracle_calls=1000,task.filters=medchem/seed0
run: .venv/.user data ## install, fetch the data, and compare two searches for JNK3 inhibitors: two minutes
	$(BIN)/evodiverse task=jnk3 method=pt
	$(BIN)/evodiverse task=jnk3 method=diverse task.filters=medchem budget.oracle_calls=1000
	@MPLBACKEND=agg $(BIN)/python scripts/first_look.py outputs/jnk3/pt/off/default/seed0 $(FILTERED) outputs/first_look.png

runs: .venv/.user data ## carry out all runs that need no model and fit on a laptop; run again to resume
	$(BIN)/evodiverse -m +experiment=mol_classical
	$(BIN)/evodiverse -m +experiment=algo_classical
	$(BIN)/evodiverse -m +experiment=eq_builtin

check: .venv/.check data ## run lint, site and test-both at once, as CI does
	@$(MAKE) --no-print-directory --jobs 3 --keep-going lint site test-both

test: .venv/.dev data ## run the tests, without network once the data is there
	$(PYTEST) -n 3 --dist worksteal

test-slow: .venv/.weekly data ## run the slower tests: launchers, kills, full disks, the wheel, docking, a model …
	@$(BIN)/evodiverse-data fetch smollm2 mapk14
	$(PYTEST) -n 4 --dist loadfile -m 'slow and not torch and not slurm'

test-both: .venv/.dev data ## run the tests of the two targets above in one session, but for those that CI runs each week
	$(PYTEST) -n 4 --dist worksteal -m 'not torch and not leak and not slurm and not weekly'

test-torch: .venv/.torch data ## run the tests that need torch
	@$(BIN)/evodiverse-data fetch minilm
	$(PYTEST) -n 4 --dist worksteal -m 'slow and torch'

test-slurm: .venv/.dev data ## run the tests that start a SLURM cluster here: as root, after apt-get install slurm-wlm munge
	$(PYTEST) -m slurm

test-leak: .venv/.dev data ## run the tests that watch open files and memory
	$(PYTEST) -m leak

OUTPUTS ?= outputs
tables: .venv/.user ## write all tables of the runs in OUTPUTS; TASK=jnk3 or LLM=off restricts them
	@$(BIN)/python scripts/tables.py '$(OUTPUTS)' --task '$(TASK)' --llm '$(LLM)'

figures: .venv/.user ## draw all figures of the runs in OUTPUTS
	@$(BIN)/evodiverse-figures '$(OUTPUTS)'

docs: .venv/.user ## generate the references of configuration keys and log columns
	$(BIN)/python scripts/reference.py > docs/configuration.md
	$(BIN)/python scripts/columns.py > docs/columns.md

site: .venv/.site ## build the documentation site into build/site; warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file scripts/site/mkdocs.yml

lint: .venv/.dev ## check format, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy scripts/*.py

format: .venv/.dev ## format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

data: | .venv/.user ## fetch the oracles and ZINC-250K once, into the cache
	@$(BIN)/evodiverse-data fetch

constraints: .venv/.dev ## pin the newest allowed versions in constraints.txt
	$(INSTALL) 'pip-tools>=7.4'
	$(BIN)/pip-compile --quiet --all-extras --strip-extras --allow-unsafe --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-options \
	  --no-header --upgrade --output-file constraints.txt pyproject.toml
	@sed -i.bak -E 's/\+[a-z0-9.]+$$//' constraints.txt && rm constraints.txt.bak # +cpu of a torch without CUDA is not on PyPI

clean: ## remove the environment and all caches, not the runs
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python >= 3.11 is needed; use make PYTHON=…"; exit 1; }
	$(PYTHON) -m venv .venv
	@$(INSTALL) pip # a newer one resolves in half the time

.venv/.user: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP_INSTALL) --editable .
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL_DEV) --editable '.[dev]'
	@touch $@ .venv/.user

.venv/.site: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable '.[site]'
	@touch $@ .venv/.user

.venv/.check: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL_DEV) --editable '.[dev,site]'
	@touch $@ .venv/.dev .venv/.site .venv/.user

# Where PyPI has no wheel of Vina, its tests are skipped.
.venv/.weekly: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL_DEV) --editable '.[dev,docking,ray]' || $(INSTALL_DEV) --editable '.[dev,ray]'
	@touch $@ .venv/.dev .venv/.user

# PyPI's torch for Linux brings CUDA (GB); PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu has one without.
.venv/.torch: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL_DEV) --editable '.[dev,codebert]'
	@touch $@ .venv/.dev .venv/.user
