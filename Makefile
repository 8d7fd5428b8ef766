# The verbs that people and CI share. Everything happens in .venv; nothing is installed elsewhere.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TORCH  := torch==2.13.0

.PHONY: demo docs test test-slow lint type bench wheel audit setup setup-dev clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The core: what a user needs to solve puzzles. No torch.
$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# Everything the tests touch. torch comes first: a range would pull a build with GPU libraries.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[train,bench,minari,serve,docs,dev]'
	-$(BIN)/python -m pip install --quiet --editable '.[baselines]'  # tests skip what is missing
	-$(BIN)/python -m pip install --quiet --editable '.[ray]'
	@touch $@ $(VENV)/.core

setup: $(VENV)/.core
setup-dev: $(VENV)/.dev

demo: setup
	$(BIN)/hips demo

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

audit: setup-dev
	$(BIN)/pip-audit --skip-editable

# The site, offline; warnings are errors.
docs: setup-dev
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build

bench: setup-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist demo
