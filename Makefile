# Everything that is built goes to CACHE, outside the checkout.
CACHE ?= $(or $(SKB_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/slurm-k8s-bridge)
PYTHON ?= python3
VENV := $(CACHE)/venv/$(shell cat setup.cfg | sha256sum | cut -c1-12)
RUN := $(VENV)/bin
STACK := tests/stack/stack
export PATH := $(RUN):$(PATH)

.DEFAULT_GOAL := help

.PHONY: help
help: ## Say what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/ready: setup.cfg
	@tests/make-venv $(PYTHON) $(VENV)

.PHONY: venv
venv: $(VENV)/ready ## Make the Python environment of the checks and tests

.PHONY: lint
lint: venv ## ruff, mypy --strict, the layers, shellcheck
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	@scripts=$$(git ls-files | xargs awk 'FNR == 1 { if (/^#!.*[\/ ](ba|da)?sh( |$$)/) print FILENAME; nextfile }') && \
	echo "shellcheck" $$scripts && shellcheck $$scripts

.PHONY: unit
unit: venv ## Unit tests: the pure core and the borders against fakes
	pytest -n 4 --dist worksteal tests/unit

# Not captured: the stack says how far it is, and some tests print what they measured. The limit is each
# test's own: before the first one a new machine builds the whole stack. Up to three stacks share the test files: most of a
# test's time is waiting, and two processors have little use for a fourth. A stack has 1.5 GB: a machine of 4 GB gets two.
# STACKS=1 where a person wants to look on.
STACKS ?= $(shell awk '/^MemTotal:/ { n = int($$2 / 1800000); print (n < 1 ? 1 : n > 3 ? 3 : n) }' /proc/meminfo)
.PHONY: integration
integration: venv ## Tests on the real Slurm and Kubernetes; starts up to three stacks, and stops what was not up
	pytest -n $(if $(filter 1,$(STACKS)),0,$(STACKS)) --dist loadfile --verbose --capture=no -o timeout_func_only=true \
	  --ignore=tests/integration/soak tests/integration

# Too long for every change. The nodes are a stack of their own beside the usual one.
.PHONY: outage
outage: venv ## Ten minutes without an API server while jobs end on eight nodes (SKB_OUTAGE=SECONDS)
	SKB_NODES=8 pytest --verbose --capture=no -o timeout=1800 tests/integration/soak/test_long_outage.py

.PHONY: many-ranks
many-ranks: venv ## The output of more ranks than are followed unasked, on seventeen nodes
	SKB_NODES=17 pytest --verbose --capture=no -o timeout=1800 tests/integration/soak/test_many_ranks.py

.PHONY: flood
flood: venv ## A minute of output at full speed (SKB_FLOOD=SECONDS)
	pytest --verbose --capture=no -o timeout=1800 tests/integration/soak/test_flood.py

.PHONY: soak
soak: venv ## Ten thousand runs through one daemon, whose memory, threads and files stay what they are (SKB_RUNS=NUMBER)
	pytest --verbose --capture=no -o timeout=21600 tests/integration/soak/test_many_runs.py

# The same test with other numbers each time, and without a limit: the unit tests have a fixed share of it.
.PHONY: properties
properties: venv ## Runs to which anything happens in any order: does what must hold, hold? (EXAMPLES=20000)
	EXAMPLES=$(or $(EXAMPLES),20000) pytest -p no:cacheprovider --timeout=0 tests/unit/engine/test_any_order.py

.PHONY: failpoints
failpoints: venv ## Name each place where daemon and hooks can be made to fail, and how
	@python -m tests.failpoints

# Chaos seldom comes to some of them. ONLY="slurmrest.drain or journal.forget" for those. Most of a test's time is waiting.
.PHONY: strikes
strikes: venv ## Each failpoint alone, over the fakes, ten times in each of ten rounds (ROUNDS=10, ONLY="NAME or NAME")
	for round in $$(seq $(or $(ROUNDS),10)); do \
	  STRIKES=10 pytest --quiet -n 24 --dist worksteal $(if $(ONLY),-k "$(ONLY)") \
	    tests/unit/engine/test_failpoints.py tests/unit/engine/test_hook_failpoints.py || exit 1; \
	done

# What was broken, and what a person needs to see why, goes to the cache. SEED=2 for other jobs and other faults.
# FAULTS= and FAILPOINTS=: seconds between two faults of the site, and between two failpoints of a node; a mix has its own.
.PHONY: chaos
chaos: venv ## Whole lives of jobs on sixteen nodes while everything breaks: is anything lost, left or held twice? (LIFECYCLES=200, NODES=16, MIX=usual)
	SKB_NODES=$(or $(NODES),16) SKB_PULLED=pause python -m tests.chaos --mix $(or $(MIX),usual) --seed $(or $(SEED),1) \
	  --lifecycles $(or $(LIFECYCLES),200) $(if $(FAULTS),--faults $(FAULTS)) $(if $(FAILPOINTS),--failpoints $(FAILPOINTS)) \
	  --out $(CACHE)/chaos

# Hours. Interrupted it goes on with the piece that it was at, also on another machine where the reports are committed.
.PHONY: long-run
long-run: venv ## Pieces of chaos of all mixes: 10,000 lifecycles on thirty nodes, and each failpoint a hundred times (SEED=1)
	SKB_NODES=$(or $(NODES),30) SKB_PULLED=pause python -m tests.chaos.long_run --seed $(or $(SEED),1) --out $(CACHE)/chaos

# In a copy of the checkout. MUTANTS="NAME..." only those.
.PHONY: mutants
mutants: venv ## Slips that break a law, one at a time: do the unit tests notice each? (tests/mutants/list.toml)
	python -m tests.mutants $(MUTANTS)

# Each figure once for a commit: what was interrupted goes on. ANEW=1 measures again, FIGURES="prolog-1 attach" only those,
# PROFILE=1 keeps flame graphs of the worst three, as a full bench does.
.PHONY: bench
bench: venv ## What the bridge costs, each figure beside its reference (QUICK=1: a few minutes, few rounds)
	python -m tests.bench $(if $(QUICK),--quick) $(if $(ANEW),--anew) $(if $(PROFILE),--profile) $(FIGURES)

# atheris is for this alone, so it has an environment of its own.
FUZZ := $(CACHE)/venv-fuzz/$(shell cat setup.cfg tests/fuzz/requirements.txt | sha256sum | cut -c1-12)
.PHONY: fuzz
fuzz: ## Every border against bytes from outside, ten minutes each (SECONDS=600, TARGETS="spec log")
	@PYTHON=$(PYTHON) tests/fuzz/fuzz $(FUZZ) $(or $(SECONDS),600) $(TARGETS)

# From the checkout's own root: documents lie beside what they are about, too.
.PHONY: site
site: venv ## The documents as a site, in the cache; a link that leads nowhere is an error
	sphinx-build --quiet --fail-on-warning --keep-going -c docs/site -d $(CACHE)/site/doctrees . $(CACHE)/site/html
	@echo "the site: $(CACHE)/site/html/docs/index.html"

.PHONY: test
test: ## All of it: lint, unit, site, packages, integration
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory site
	@$(MAKE) --no-print-directory packages-test
	@$(MAKE) --no-print-directory integration

.PHONY: stack
stack: ## Start a real Slurm and a real Kubernetes in containers; builds what is missing
	$(STACK) up

.PHONY: stack-down
stack-down: ## Remove the stack; what was built stays in the cache
	$(STACK) down

.PHONY: demo
demo: ## Show one job the whole way, on the stack
	@$(PYTHON) tests/demo/demo

.PHONY: docs
docs: venv ## Make the pages of the documentation that the code knows: faults, messages, exit codes, tiers, manifests, the JSON schema, manual pages, completion
	python -c 'from bridge.cli.main import main; main()' explain --table -o markdown >docs/reference/faults.md
	python -c 'from bridge.cli.catalogue import as_page; print(as_page())' >docs/reference/messages.md
	python -c 'from bridge.cli.exit_codes import as_page; print(as_page())' >docs/reference/exit-codes.md
	python -c 'from bridge.cli.tiers import as_page; print(as_page(), end="")' >docs/reference/tiers.md
	python -c 'from bridge.cli.keys import as_page; print(as_page())' >docs/reference/bridge-toml.md
	python -c 'from bridge.cli.spec_page import as_page; print(as_page())' >docs/reference/spec.md
	python -m tests.manifests >docs/reference/manifests.md
	python -m tests.bench.page >docs/reference/performance.md
	python -m tests.bench.scale >docs/explanation/scale.md
	python -m tests.bench.headline README.md
	python -c 'from bridge.cli.main import main; main()' schema >docs/reference/containerjob.schema.json
	python -c 'from pathlib import Path; from bridge import daemon; from bridge.cli.manual import renew; \
	  renew(Path("packaging/man"), daemon.parser())'
	python -c 'from pathlib import Path; from bridge.cli import completion; completion.renew(Path("packaging/completion"))'

# Without TARGETS for all systems: TARGETS="bookworm trixie noble" and "el8 el9 el10". ARCH=aarch64 for other machines.
# What is brought from the package index stays in the cache.
PACKAGES ?= $(CACHE)/packages
PACKER = PYTHONPATH=packaging PYTHONDONTWRITEBYTECODE=1 python -m packer
PACKER_OPTIONS = $(if $(ARCH),--arch $(ARCH)) --cache $(CACHE)/packages --out $(PACKAGES)

.PHONY: deb
deb: venv ## Make the deb for Debian and Ubuntu (TARGETS=trixie)
	@$(PACKER) deb $(TARGETS) $(PACKER_OPTIONS)

.PHONY: rpm
rpm: venv ## Make the rpm for EL 8, 9 and 10 (TARGETS=el9)
	@$(PACKER) rpm $(TARGETS) $(PACKER_OPTIONS)

.PHONY: packages
packages: deb rpm ## Make all packages

# Not in `make test`: a minute for what is built four times, and once ten for a Debian to install it into.
.PHONY: packages-test
packages-test: venv ## The packages: contents, lint, same bytes twice, installed and removed; needs root, on Debian
	@tests/packages/need-tools
	pytest --verbose -o timeout=1800 tests/packages

.PHONY: lock
lock: venv ## Pin what the packages have inside, after a change of setup.cfg's install_requires
	@$(PACKER) lock

.PHONY: clean
clean: ## Remove what tools left in the checkout; the cache stays
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
