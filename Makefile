# Two commands are all a newcomer needs: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SOURCES := src tests bench paper examples docs
OLDEST := .venv-oldest
SITE := build/site

.PHONY: demo test test-all test-peers fuzz lint format bench reproduce docs dist-check test-matrix clean

demo: $(VENV)/demo.stamp
	$(BIN)/slackwater demo

test: $(VENV)/dev.stamp $(VENV)/libsvm.stamp
	$(BIN)/pytest -n auto -m "not slow"

test-all: $(VENV)/dev.stamp $(VENV)/paper.stamp $(VENV)/system.stamp
	$(BIN)/pytest -n auto --ignore tests/peers
	cd paper && ../$(BIN)/pytest -n auto
	$(MAKE) test-peers
	$(MAKE) docs

# scikit-learn's own tests of its SVC, and its meta-estimators, with ours: on the newest and on the oldest version supported.
test-peers: $(VENV)/dev.stamp $(OLDEST)/stamp
	$(BIN)/pytest -n auto tests/peers tests/estimators/test_drop_in.py
	$(OLDEST)/bin/python -m pytest -n auto tests/peers tests/estimators/test_drop_in.py

# Hostile model and data files, counted: a million inputs, and some guided by coverage.
fuzz: $(VENV)/fuzz.stamp
	$(BIN)/python tests/fuzz/fuzz_models.py --count 200000
	$(BIN)/python tests/fuzz/fuzz_data.py --count 800000
	for target in models svmlight csv npz npy; do $(BIN)/python tests/fuzz/guided.py $$target --runs 20000 || exit 1; done

# The site: gallery run, no warnings, internal links checked.
docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -q -W --keep-going -d $(SITE)/doctrees docs $(SITE)/html
	$(BIN)/python docs/check_links.py $(SITE)/html
	@echo "The site is in $(SITE)/html/index.html"

# Wheel and sdist, each installed into an empty environment, where a user's script runs and is type-checked.
dist-check: $(VENV)/dev.stamp
	$(BIN)/python tests/release/dist_check.py

# Every Python that is found, newest dependencies; on the oldest Python the oldest dependencies as well.
test-matrix: $(VENV)/bin/python $(VENV)/libsvm.stamp
	$(BIN)/python tests/release/matrix.py

reproduce: $(VENV)/paper.stamp
	$(BIN)/sbp-paper

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/mypy tests/release/user_script.py
	cd paper && ../$(BIN)/mypy
	$(BIN)/pytest tests/test_architecture.py tests/test_docstrings.py

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: $(VENV)/bench.stamp
	$(BIN)/python bench/pages.py
	$(BIN)/python bench/levels.py
	$(BIN)/python bench/rows.py
	$(BIN)/python bench/tiles.py
	$(BIN)/python bench/sbp.py
	$(BIN)/python bench/smo.py
	$(BIN)/python bench/path.py
	$(BIN)/python bench/svccv.py
	$(BIN)/python bench/warm.py
	$(BIN)/python bench/predict.py
	$(BIN)/python bench/certify.py
	$(BIN)/python bench/classes.py
	$(BIN)/python bench/small.py
	$(BIN)/python bench/search.py
	$(BIN)/python bench/conditioning.py
	$(BIN)/python bench/linear.py
	$(BIN)/python bench/parse.py
	$(BIN)/python bench/race.py
	$(BIN)/python bench/cluster.py
	$(BIN)/python bench/large.py
	$(BIN)/python bench/scale.py

clean:
	rm -rf $(VENV) $(OLDEST) .venv-matrix build docs/gallery docs/generated demo results reproduction

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(OLDEST)/stamp: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet -e ".[test,oldest]"
	touch $@

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e ".[demo]"
	touch $@

$(VENV)/paper.stamp: pyproject.toml paper/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e . -e "./paper[test]"
	touch $@

# What pip cannot install: a browser that opens reports and the reproduction's page, and LIBSVM's own programs to compare with.
$(VENV)/system.stamp: | $(VENV)/bin/python
	@if ! command -v chromium >/dev/null || ! command -v svm-train >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq chromium libsvm-tools >/dev/null; \
	  fi || true; \
	  command -v chromium >/dev/null && command -v svm-train >/dev/null || \
	    echo "chromium and libsvm-tools are not installed: tests that need them are skipped"; \
	fi
	touch $@

# LIBSVM's own programs alone, which the tests of its model format run.
$(VENV)/libsvm.stamp: | $(VENV)/bin/python
	@if ! command -v svm-train >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends libsvm-tools >/dev/null; \
	  fi || true; \
	  command -v svm-train >/dev/null || \
	    echo "NOT TESTED AGAINST LIBSVM: svm-train is missing and cannot be installed here (package libsvm-tools)"; \
	fi
	touch $@

$(VENV)/fuzz.stamp: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet -e ".[fuzz]"
	touch $@

$(VENV)/docs.stamp: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	touch $@

$(VENV)/bench.stamp: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	touch $@ $(VENV)/demo.stamp
