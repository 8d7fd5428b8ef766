# The verbs that people and CI share. Everything happens in .venv; nothing is installed elsewhere.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TORCH  := torch==2.13.0

.PHONY: demo web docs test test-slow lint type bench wheel sdist constraints audit setup setup-dev \
        clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The core: what a user needs to solve puzzles. No torch.
$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# The page: the core and a small server.
$(VENV)/.serve: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[serve]'
	@touch $@

# Everything the tests touch, in the versions of constraints.txt. torch comes first: a range would
# pull a build with GPU libraries.
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) $(TORCH)
	$(INSTALL) --editable '.[train,bench,minari,serve,docs,dev]'
	-$(INSTALL) --editable '.[baselines]'  # tests skip what is missing
	-$(INSTALL) --editable '.[ray]'
	@touch $@ $(VENV)/.core $(VENV)/.serve

setup: $(VENV)/.core
setup-dev: $(VENV)/.dev

demo: setup
	$(BIN)/hips demo
	@echo 'Next: make web, or . $(BIN)/activate and hips --help'

web: $(VENV)/.serve
	$(BIN)/hips web

test: setup-dev
	$(BIN)/python -m pytest -n 2

test-slow: setup-dev
	$(BIN)/python -m pytest -n 2 -m 'slow or not slow'

lint: setup-dev
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/ruff format --check src tests examples benchmarks

type: setup-dev
	$(BIN)/mypy

# The wheel as users get it: its content listed, without training weights, installed and run.
wheel: setup-dev
	rm -rf build dist $(VENV)/wheel
	$(BIN)/python -m build --wheel --outdir dist
	$(BIN)/python -m zipfile -l dist/*.whl
	! $(BIN)/python -m zipfile -l dist/*.whl | grep -E 'safetensors|tests/'
	$(BIN)/python -m venv $(VENV)/wheel
	$(VENV)/wheel/bin/python -m pip install --quiet dist/*.whl
	cd / && $(CURDIR)/$(VENV)/wheel/bin/hips solve sliding_tiles --count 1

# The source distribution, built twice with equal bytes.
sdist: setup-dev
	$(BIN)/python .ci/sdist.py

# Fails if a package is installed that constraints.txt does not name in that version.
constraints: setup-dev
	! $(BIN)/python -m pip freeze --exclude-editable | sed 's/+.*//' | grep -vixFf constraints.txt

# Fails if a package has a known vulnerability, or could not be looked up.
audit: setup-dev
	$(BIN)/pip-audit --strict --skip-editable

# The site, offline; warnings are errors.
docs: setup-dev
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build

bench: setup-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist demo
