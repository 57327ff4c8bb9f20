# `make demo` and `make test` do all the set-up. Only pip, with -c constraints.txt: see CONTRIBUTING.md.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check faults clean

demo: $(READY)
	$(BIN)/coterie demo --out demo

test: check
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

faults: $(READY)
	$(BIN)/python -m benchmarks faults

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) demo build .pytest_cache .mypy_cache .ruff_cache .hypothesis
