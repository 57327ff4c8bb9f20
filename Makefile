# `make demo` and `make test` do all the set-up. Only pip, with -c constraints.txt: see CONTRIBUTING.md.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ROOT := $(shell test "$$(id -u)" = 0 || echo sudo)

# `make bench`: data inside packages, our methods and the peers that people run, three seeds, in two processes; a table each.
BENCH_SETS := iris,wine,digits motions,multiview-digits
BENCH_METHODS := today,cheap,ours

.PHONY: demo test check oldest newest audit docs picture browser bench faults clean

demo: $(READY)
	$(BIN)/coterie demo --out demo

test: check browser
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The oldest versions that pyproject.toml allows, in an environment of their own; what needs no browser and no docs.
oldest:
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[all]' pytest hypothesis 'httpx2>=2'
	.venv-oldest/bin/python -m pytest tests/test_contract.py tests/test_metrics.py tests/test_store.py tests/data tests/nn tests/ops tests/cli/test_program.py tests/cli/test_recommend.py

# The newest versions that there are, without constraints.txt: pyproject.toml sets no upper limits.
newest:
	test -x .venv-newest/bin/python || $(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -e '.[dev]'
	.venv-newest/bin/python -m pytest -n auto --dist worksteal

# Known vulnerabilities of the pinned versions. This asks an advisory service, so it needs the network.
audit:
	test -x .venv-audit/bin/python || $(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	.venv-audit/bin/python -m pip_audit --no-deps --disable-pip -r constraints.txt

# The site, docs/_build/html/index.html: the examples of the gallery are run, a warning is an error, nothing is fetched.
docs: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html

# The pictures of the home page, taken again.
picture: $(READY) browser
	OMP_NUM_THREADS=1 PYTHONPATH=. $(BIN)/python docs/picture.py

faults: $(READY)
	$(BIN)/python -m benchmarks faults

# The tests of the explorer's page need a browser: Debian's own, put there where it is missing.
browser:
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ $(ROOT) apt-get update -q && $(ROOT) apt-get install -q -y --no-install-recommends chromium chromium-driver fonts-dejavu-core; }

bench: $(VENV)/.bench
	$(MAKE) -j2 $(BENCH_SETS:%=bench-%)

bench-%: $(VENV)/.bench
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks peers --sets $* --methods $(BENCH_METHODS) --seeds 3 --limit 150 --tag bench

$(VENV)/.bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench,bench-gpl]'
	touch $@

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest .venv-audit demo build docs/_build docs/api/generated docs/api/used docs/examples .pytest_cache .mypy_cache .ruff_cache .hypothesis
