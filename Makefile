# What one does with a clone. Swift and the scripts in Scripts/ do the work; this names it.
# Every target installs the packages it lacks (Scripts/packages.sh), and can be run again and again.

PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
SEEDS ?= 100000
ARGS ?=
KILLS ?= 1000
DAMAGES ?= 1000
EVENTS ?= 1000000
SEED ?= 0
PLUGIN ?=
SETTINGS ?=
CEL ?=

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help run test conformance agree bench fuzz crash damage simulate mutants check contract tsan asan schema metrics clients install deb clean

say := echo switchyard:
toolchain := . Scripts/toolchain.sh

help: ## Show this list
	@echo "switchyard routes telemetry by routes.json. To begin: make run"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

run: ## Build it, and send sample events through routes.json
	@Scripts/packages.sh build
	@$(toolchain); \
	$(say) "building; the first time takes a few minutes"; \
	swift build -c release; \
	$(say) "Examples/events.ndjson through routes.json:"; \
	.build/release/switchyard --stats text <Examples/events.ndjson; \
	$(say) "done: routes.json says what went where. Change it and run this again, or pipe in events of your own:"; \
	$(say) "    your-program | .build/release/switchyard"

test: ## Run every test
	@Scripts/packages.sh build test
	@$(toolchain); \
	$(say) "building and running every test"; \
	swift test --parallel

bench: ## Measure it, or the program that SWITCHYARD names, beside others (ARGS="--json FILE", "--compare FILE", "--instructions", "--help")
	@Scripts/packages.sh build bench $(if $(findstring --instructions,$(ARGS)),instructions)
	@$(toolchain); \
	if [ -z "$${SWITCHYARD-}" ]; then $(say) "building"; swift build -c release; fi; \
	$(say) "measuring; the machine should have nothing else to do"; \
	Benchmarks/run $(ARGS)

fuzz: ## Feed it random input for SECONDS=60, after it has found the planted bug
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/fuzz.sh $(SECONDS)

crash: ## Kill it at random moments KILLS=1000 times, and prove that nothing it had acknowledged is lost
	@Scripts/packages.sh build test
	@$(toolchain); \
	$(say) "building"; \
	swift build; \
	Tests/Crash/crash --planted --kills 10 --router .build/debug/switchyard; \
	Tests/Crash/crash --kills $(KILLS) --router .build/debug/switchyard

damage: ## Damage the files of its queues DAMAGES=1000 times, and prove that no wrong event comes out and none is lost in silence
	@Scripts/packages.sh build test
	@$(toolchain); \
	$(say) "building"; \
	swift build; \
	Tests/Crash/damage --planted --damages 20 --router .build/debug/switchyard; \
	Tests/Crash/damage --damages $(DAMAGES) --router .build/debug/switchyard

simulate: ## Play lanes and consent by SEEDS=100000 on a clock of its own, after planted bugs (ARGS="--seed N" or "--consent --seed N" plays one again)
	@Scripts/packages.sh build
	@$(toolchain); Scripts/simulate.sh $(SEEDS) $(ARGS)

mutants: ## Plant bugs in a copy, one at a time, and see that the tests notice each (ARGS="--only NAME", "--list")
	@Scripts/packages.sh build test
	@$(toolchain); Tests/Mutants/mutants $(ARGS)

check: ## Check the format, the imports, and that nothing warns
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/check.sh

contract: ## Hold a built provider module against the contract: PLUGIN=lib.so [SETTINGS=cases.json]; without, all of them
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/contract.sh $(PLUGIN) $(SETTINGS)

conformance: ## Run the cases of the CEL specification: CEL=FOLDER, a clone of github.com/cel-expr/cel-spec
	@if [ -z "$(CEL)" ]; then $(say) "name a clone of cel-spec: make conformance CEL=FOLDER"; exit 64; fi
	@Scripts/packages.sh build
	@$(toolchain); \
	swift build --product switchyard-patterns; \
	swift build --product switchyard-conformance; \
	.build/debug/switchyard-conformance "$(CEL)/tests/simple/testdata"

agree: ## Hold explain against the router on EVENTS=1000000 random events of random plans (SEED=0 says where to begin)
	@Scripts/packages.sh build test
	@$(toolchain); \
	swift build --build-tests; \
	AGREE_EVENTS=$(EVENTS) AGREE_SEED=$(SEED) swift test --skip-build --filter FindingTests

tsan: ## Run every test under the thread sanitizer
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/sanitize.sh thread

asan: ## Run every test under the address sanitizer
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/sanitize.sh address

schema: ## Check the JSON Schema of routes.json against a validator from PyPI
	@Scripts/packages.sh build test schema
	@$(toolchain); Scripts/schema.sh

clients: ## Let vendors' client libraries from PyPI send to a router, also through faults
	@Scripts/packages.sh build clients
	@$(toolchain); $(say) "building"; swift build; Scripts/clients.sh

metrics: ## Let Prometheus' promtool read what a router counts
	@Scripts/packages.sh build metrics
	@$(toolchain); $(say) "building"; swift build; Scripts/check-metrics.sh

install: ## Install under PREFIX=/usr/local (DESTDIR=FOLDER to put the tree there instead)
	@Scripts/packages.sh build
	@$(toolchain); PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install.sh

deb: ## Build a Debian package in .build/deb: the program, its modules, unit, socket and manual page
	@Scripts/packages.sh build
	@Scripts/deb.sh

clean: ## Remove everything that was built
	@rm -rf .build .build-*
