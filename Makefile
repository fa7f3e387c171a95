# Everything happens in .venv; `make` alone lists the targets.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup up servers lint types check test openapi fuzz crash simulate bench bench-large dist clean

BIN := .venv/bin
CODE := $(wildcard src tests examples benchmarks)
PYTEST := $(BIN)/python -m pytest -n 4
# Tests that start servers, or explore at length: not part of the inner loop.
SERVICES := api cli client docs extremes fuzz growth outages sandbox simulation simulator
BENCH = $(if $(ONLY),--only $(ONLY)) $(if $(PEERS),--peers $(PEERS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SIZE),--size $(SIZE))

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.ready  ## create .venv with Postino and the development tools
	@:

.venv/.ready: pyproject.toml requirements/dev.txt requirements/build.txt scripts/setup.sh
	@scripts/setup.sh dev

up:  ## start Postino: API, worker and sandbox networks
	@test -x $(BIN)/postino || scripts/setup.sh
	@$(BIN)/postino up

servers: setup  ## install the servers that the tests start
	@scripts/servers.sh

lint: setup  ## ruff format --check and ruff check
	@$(BIN)/ruff format --check --quiet . || { echo "Run $(BIN)/ruff format . to format these files:"; $(BIN)/ruff format --check .; }
	@$(BIN)/ruff check .

types: setup  ## mypy --strict
	@$(BIN)/mypy $(CODE)

check: setup lint types  ## the inner loop: lint, types, architecture, rules, stores and engine on SQLite
	@$(PYTEST) -q -m "not postgres and not slow and not crash" $(SERVICES:%=--ignore=tests/%)

test: setup servers lint types  ## everything that CI runs
	@$(PYTEST)

openapi: setup  ## write openapi.json and docs/api-reference.md from the API's code
	@$(BIN)/python -m postino.api.openapi openapi.json
	@$(BIN)/python scripts/api_reference.py openapi.json docs/api-reference.md

fuzz: setup servers  ## send 50,000 generated requests to the API on both databases, ten minutes; CALLS=… SEED=…
	@$(BIN)/python -m tests.fuzz $(if $(CALLS),--calls $(CALLS)) $(if $(SEED),--seed $(SEED))

crash: setup servers  ## kill 3,000 workers at every crash point and at random, and put backups back; twenty minutes; ONLY=posts KILLS=500 SEED=…
	@$(BIN)/python -m tests.crash $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

simulate: setup servers  ## run 10,000 simulated lives, or tell one; SEEDS=… FIRST=… SEED=7 SAVE=1 PLANTED=1 STORE=postgres
	@$(BIN)/python -m tests.simulator$(if $(filter postgres,$(STORE)),.interleaving) --seeds $(or $(SEEDS),$(if $(PLANTED),500,10000)) $(if $(FIRST),--first $(FIRST)) $(if $(SEED),--seed $(SEED)) $(if $(SAVE),--save) $(if $(PLANTED),--planted)

bench: setup servers  ## measure Postino beside its peers, fifty minutes; ONLY=drain,idle PEERS=pgqueuer ROUNDS=3
	@$(BIN)/python -m benchmarks $(BENCH)

bench-large: setup servers  ## the same with ten million rows; needs 15 GB of disk
	@$(BIN)/python -m benchmarks --large $(BENCH)

dist: setup  ## build the wheel and the source distribution into dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build

clean:  ## remove .venv, caches and build results
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
