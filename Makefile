# Thin doors: each target is a line or two, and CI goes through the same ones.
# Stamps in .venv make repeated calls quick; a changed distribution is installed again.

# Each process of a test would compile its sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test test-interpreted test-compiled test-spark lint format bench bench-spark bench-workers \
	bench-console reliability docs site pictures clean

PYTHON  ?= python3
JOBS    ?= 2
BIN     := .venv/bin
# The files that a distribution is made of.
files_of = $(shell find $(1)/src -name '*.py' -o -name '*.pxd' -o -name '*.properties' \
		-o -path '*/page/*') \
	$(wildcard $(addprefix $(1)/,setup.py pyproject.toml MANIFEST.in README.md))
HOW      = -q -n $(JOBS) --dist worksteal
PYTEST   = $(BIN)/python -m pytest $(HOW)
# Tests that fail among others are run once more, alone, and named.
CROWD    = FOREBAY_LEG=compiled $(BIN)/python -m tools.crowd $(HOW)
PLAIN   := PYTHONPATH=server/src:spark/src:workers/src:console/src
CODE    := packaging server spark workers console tests testkit bench reliability examples tools conftest.py

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.system .venv/.server .venv/.spark .venv/.workers .venv/.console ## .venv with the compiled package and all tools in it

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.system: tools/system_packages.sh | .venv/bin/python
	sh tools/system_packages.sh
	@touch $@

.venv/.tools: pyproject.toml server/pyproject.toml spark/pyproject.toml workers/pyproject.toml \
		console/pyproject.toml | .venv/bin/python .venv/.system
	$(BIN)/python tools/install.py tools
	@touch $@

# The stamp has the time of the start: a file edited during a build counts as newer.
.venv/.server: $(call files_of,server) .venv/.tools
.venv/.spark: $(call files_of,spark) .venv/.tools
.venv/.workers: $(call files_of,workers) .venv/.tools
.venv/.console: $(call files_of,console) .venv/.tools
.venv/.server .venv/.spark .venv/.workers .venv/.console:
	@touch $@.begun
	$(BIN)/python tools/install.py $(@:.venv/.%=%)
	@mv $@.begun $@

# Lets a JVM of a test start in half the time.
.venv/spark.jsa: .venv/.tools spark/tests/support/class_archive.py | .venv/.spark .venv/.server
	$(BIN)/python -m spark.tests.support.class_archive

demo: setup ## a bike race, two crashes, a lake on Spark, and SQL over all of it
	$(BIN)/python -m examples.demo

test: setup lint test-interpreted test-compiled test-spark ## everything that CI checks

# Code that is plain Python in both legs is tested once, with the compiled server: connector,
# workers, console, command line, the harness of reliability.  So are clients and sets of servers:
# the compiled parts of replication run here in simulations.
test-interpreted: JOBS := $(shell expr 3 \* $(JOBS) / 2)
ONCE := $(addprefix --ignore server/tests/,cli clients server/replication server/tls/test_replication.py)
test-interpreted: setup ## the suite on the plain Python sources
	FOREBAY_LEG=interpreted $(PLAIN) $(PYTEST) server/tests tests/reliability/test_simulation.py \
		$(ONCE) -m "not compiled" \
		--cov --cov-report=term

# Most of its time is waiting, for leases, sentinels and browsers.
test-compiled: JOBS := $(shell expr 5 \* $(JOBS) / 2)
test-compiled: setup ## the suite on the installed, compiled package
	$(CROWD) --ignore tests/tidy -m "not spark"

# Most of a micro-batch is waiting, and so is most of a start.
test-spark: JOBS := $(shell expr 3 \* $(JOBS) / 2)
test-spark: setup .venv/spark.jsa ## the connector with a real Spark, on the compiled package
	$(CROWD) -m spark spark/tests

lint: setup ## ruff, mypy, import-linter, the tidy tests
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check --quiet $(CODE)
	$(BIN)/mypy & types=$$!; \
	$(PLAIN) $(BIN)/lint-imports --no-logo && \
	$(PLAIN) $(BIN)/python -m pytest -q -n $(JOBS) tests/tidy; rest=$$?; \
	wait $$types && exit $$rest

format: setup ## let ruff format and fix what it can
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: setup ## measure against redis-server or PEER=path; QUICK=1: two minutes, ONLY=word: some rows
	$(BIN)/python -m bench.run $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) \
		$(if $(PEER),--peer $(PEER))

bench-spark: setup ## measure the connector in Spark; QUICK=1 and ONLY=word as above
	$(BIN)/python -m bench.spark.run $(if $(QUICK),--quick) $(if $(ONLY),--only "$(ONLY)")

bench-workers: setup ## measure the workers against a bare loop and FastStream; QUICK=1
	$(BIN)/python -m bench.workers.run $(if $(QUICK),--quick)
	$(BIN)/python -m bench.workers.run $(if $(QUICK),--quick) --server redis

bench-console: setup ## measure an open console at a large server; QUICK=1
	$(BIN)/python -m bench.console $(if $(QUICK),--quick)

reliability: setup ## attack the promises; FULL=1 for a night, ONLY=R1,R5 for some, SEED=n again
	$(BIN)/python -m reliability.run $(if $(FULL),--full) $(if $(ONLY),--only $(ONLY)) \
		$(if $(SEED),--seed $(SEED)) --out reliability/out.jsonl
	$(BIN)/python -m reliability.table reliability/out.jsonl

docs: setup ## write the generated pages and the picture again
	$(PLAIN) $(BIN)/python tools/generate_docs.py

site: setup ## the documentation as a site, in build/site
	$(BIN)/python -m tools.build_site

pictures: setup ## make the pictures of the console in docs/pictures again (six minutes)
	$(BIN)/python -m console.tests.support.pictures

clean: ## remove everything that was built; the next setup starts from nothing
	rm -rf .venv build dist */src/*.egg-info bench/out reliability/out.jsonl .mypy_cache .ruff_cache .pytest_cache \
		.hypothesis .import_linter_cache .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
