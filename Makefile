# The commands for a clone of the project. Swift and the scripts in Scripts/ do the work.
# Each target installs the packages that it needs (Scripts/packages.sh), and can be run repeatedly.

PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
SEEDS ?= 100000
ARGS ?=
KILLS ?= 1000
ERASURE_KILLS ?= 200
DAMAGES ?= 1000
PAIRS ?= 90
QUEUED ?= 10000
EVENTS ?= 1000000
EVENTS_OF_NATS ?= 100000
SEED ?= 0
PLUGIN ?=
SETTINGS ?=
CEL ?=
SCHEMA ?=

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help run test conformance agree bench fuzz crash erasures damage swaps nats tamper simulate mutants check contract order tsan asan reference schema metrics page clients redaction install deb clean

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
	$(say) "done: routes.json says where the events go. Change it and run this again, or pipe in your own events:"; \
	$(say) "    your-program | .build/release/switchyard"

test: ## Run every test
	@Scripts/packages.sh build test
	@$(toolchain); \
	$(say) "building and running every test"; \
	swift test --parallel

bench: ## Measure it, or the program that SWITCHYARD names, and compare it with others (ARGS="--json FILE", "--compare FILE", "--instructions", "--help")
	@Scripts/packages.sh build bench $(if $(findstring --instructions,$(ARGS)),instructions)
	@$(toolchain); \
	if [ -z "$${SWITCHYARD-}" ]; then $(say) "building"; swift build -c release; fi; \
	$(say) "measuring; no other program should be busy on this machine"; \
	Benchmarks/run $(ARGS)

fuzz: ## Feed it random input for SECONDS=60, after each target has found its planted bug
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/fuzz.sh $(SECONDS)

tamper: ## Change every byte of an audit trail of 1,000 entries, one at a time: each change is found
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/tamper.sh

crash: ## Kill it at random moments KILLS=1000 times, and check that no acknowledged event is lost
	@Scripts/packages.sh build test
	@$(toolchain); \
	$(say) "building"; \
	swift build; \
	Tests/Crash/crash --planted --kills 10 --router .build/debug/switchyard; \
	Tests/Crash/crash --kills $(KILLS) --router .build/debug/switchyard

erasures: ## Kill it at random moments ERASURE_KILLS=200 times while a vendor is to erase, and check that no erasure is lost
	@Scripts/packages.sh build test
	@$(toolchain); \
	$(say) "building"; \
	swift build; \
	Tests/Crash/erasures --planted --router .build/debug/switchyard; \
	Tests/Crash/erasures --kills $(ERASURE_KILLS) --router .build/debug/switchyard

damage: ## Damage the files of its queues DAMAGES=1000 times, and check that no wrong event is delivered and every loss is reported
	@Scripts/packages.sh build test
	@$(toolchain); \
	$(say) "building"; \
	swift build; \
	Tests/Crash/damage --planted --damages 20 --router .build/debug/switchyard; \
	Tests/Crash/damage --damages $(DAMAGES) --router .build/debug/switchyard

swaps: ## Swap the module of a provider with a full queue for PAIRS=90 ordered pairs of modules, and check that every event arrives in its shape
	@Scripts/packages.sh build test
	@$(toolchain); \
	$(say) "building"; \
	swift build; \
	Tests/Swaps/swaps --planted --router .build/debug/switchyard; \
	Tests/Swaps/swaps --pairs $(PAIRS) --events $(QUEUED) $(ARGS) --router .build/debug/switchyard

nats: ## Publish EVENTS_OF_NATS=100000 events to real servers of NATS that are killed at random moments, read them back, and compare
	@Scripts/packages.sh build nats
	@$(toolchain); \
	$(say) "building"; \
	swift build; \
	Tests/NATS/nats --planted --router .build/debug/switchyard; \
	Tests/NATS/nats --events $(EVENTS_OF_NATS) --router .build/debug/switchyard $(ARGS)

simulate: ## Simulate lanes and consent for SEEDS=100000 seeds, after planted bugs (ARGS="--seed N" or "--consent --seed N" repeats one)
	@Scripts/packages.sh build
	@$(toolchain); Scripts/simulate.sh $(SEEDS) $(ARGS)

mutants: ## Plant bugs in a copy, one at a time, and check that the tests find each (ARGS="--only NAME", "--list")
	@Scripts/packages.sh build test
	@$(toolchain); Tests/Mutants/mutants $(ARGS)

check: ## Check the format, the imports, the lists of promises and planted bugs, and that the build has no warnings
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/check.sh

contract: ## Check a built provider module with the contract: PLUGIN=lib.so [SETTINGS=cases.json]; without PLUGIN, check all of them
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/contract.sh $(PLUGIN) $(SETTINGS)

conformance: ## Run the cases of CEL (CEL=FOLDER, a clone of github.com/cel-expr/cel-spec) or of JSON Schema (SCHEMA=FOLDER)
	@if [ -z "$(CEL)$(SCHEMA)" ]; then \
	    $(say) "name a clone of cel-spec or of JSON-Schema-Test-Suite: make conformance CEL=FOLDER or SCHEMA=FOLDER"; exit 64; fi
	@Scripts/packages.sh build
	@$(toolchain); \
	swift build --product switchyard-patterns; \
	if [ -n "$(CEL)" ]; then \
	    swift build --product switchyard-conformance; .build/debug/switchyard-conformance "$(CEL)/tests/simple/testdata"; fi; \
	if [ -n "$(SCHEMA)" ]; then \
	    swift build --product switchyard-schema-conformance; .build/debug/switchyard-schema-conformance "$(SCHEMA)"; fi

agree: ## Compare explain with the router on EVENTS=1000000 random events of random plans (SEED=0 is the first seed)
	@Scripts/packages.sh build test
	@$(toolchain); \
	swift build --build-tests; \
	AGREE_EVENTS=$(EVENTS) AGREE_SEED=$(SEED) swift test --skip-build --filter FindingTests

order: ## Write Sources/Command/startup.order, by which the linker places what a router calls at its start, from a run under valgrind
	@Scripts/packages.sh build instructions
	@$(toolchain); Scripts/order.py

tsan: ## Run the tests of everything that uses threads under the thread sanitizer (ARGS="--filter REGEX", "--skip REGEX")
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/sanitize.sh thread $(ARGS)

asan: ## Run the tests under the address sanitizer, but for a few with long texts (ARGS="--filter REGEX", "--skip REGEX")
	@Scripts/packages.sh build test
	@$(toolchain); Scripts/sanitize.sh address $(ARGS)

reference: ## Write docs/reference.md, the reference of all keys, from the declarations
	@Scripts/packages.sh build
	@$(toolchain); swift build; .build/debug/switchyard schema | Scripts/reference.py >docs/reference.md

schema: ## Check the JSON Schema of routes.json with a validator from PyPI
	@Scripts/packages.sh build test schema
	@$(toolchain); Scripts/schema.sh

clients: ## Let vendors' client libraries from PyPI send to a router, also with faults
	@Scripts/packages.sh build clients
	@$(toolchain); $(say) "building"; swift build; Scripts/clients.sh

redaction: ## Measure what scrub finds in texts of 18 locales, beside Presidio and scrubadub (ARGS="--show phone", "--each N")
	@Scripts/packages.sh build redaction
	@$(toolchain); Scripts/redaction.sh $(ARGS)

page: ## Check the page in headless Chromium: its numbers, texts, keyboard and pictures (ARGS="--pictures FOLDER")
	@Scripts/packages.sh build page
	@$(toolchain); $(say) "building"; swift build; Tests/Page/page $(ARGS)

metrics: ## Check the metrics of a router with Prometheus' promtool
	@Scripts/packages.sh build metrics
	@$(toolchain); $(say) "building"; swift build; Scripts/check-metrics.sh

install: ## Install under PREFIX=/usr/local (DESTDIR=FOLDER to put the tree there instead)
	@Scripts/packages.sh build
	@$(toolchain); PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install.sh

deb: ## Build a Debian package in .build/deb: the program, its modules, unit, socket and manual page
	@Scripts/packages.sh build
	@Scripts/deb.sh

clean: ## Remove all build folders
	@rm -rf .build .build-*
