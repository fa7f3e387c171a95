# Everything happens in .venv; `make` alone lists what there is.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup up servers lint types check test openapi fuzz crash bench bench-large clean

BIN := .venv/bin
CODE := $(wildcard src tests examples benchmarks)
PYTEST := $(BIN)/python -m pytest -n 3
BENCH = $(if $(ONLY),--only $(ONLY)) $(if $(PEERS),--peers $(PEERS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SIZE),--size $(SIZE))

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.ready  ## .venv with Postino and the development tools
	@:

.venv/.ready: pyproject.toml constraints.txt scripts/setup.sh
	@scripts/setup.sh

up: setup  ## set up, then show Postino at work
	@$(BIN)/postino up

servers: setup  ## install the servers the tests need, where they are missing
	@scripts/servers.sh

lint: setup  ## ruff
	@$(BIN)/ruff check .

types: setup  ## mypy --strict
	@$(BIN)/mypy $(CODE)

check: setup lint types  ## the inner loop: lint, types, architecture, fast tests on SQLite and pure rules
	@$(PYTEST) -q -m "not postgres and not slow and not crash"

test: setup servers lint types  ## everything: servers, lint, types, architecture, all tests
	@$(PYTEST)

openapi: setup  ## openapi.json anew, from what the API says of itself
	@$(BIN)/python -m postino.api.openapi openapi.json

fuzz: setup servers  ## asks the API anything, with keys and without, on both databases, 50,000 times, some ten minutes; CALLS=… SEED=…
	@$(BIN)/python -m tests.fuzz $(if $(CALLS),--calls $(CALLS)) $(if $(SEED),--seed $(SEED))

crash: setup servers  ## kills workers at every point and at random, 3,000 of them, a quarter of an hour; ONLY=posts KILLS=500 SEED=…
	@$(BIN)/python -m tests.crash $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

bench: setup servers  ## Postino beside its peers, about half an hour; fewer: ONLY=drain,idle PEERS=pgqueuer ROUNDS=3
	@$(BIN)/python -m benchmarks $(BENCH)

bench-large: setup servers  ## the same with ten million rows, for which it needs some 15 GB of disk
	@$(BIN)/python -m benchmarks --large $(BENCH)

clean:  ## remove .venv, caches and build results
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
