# The two commands of the README (demo, test) and what developers use. Each installs what it needs first; that is a
# no-op of a few milliseconds when everything is there.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PRESET ?= dev
BUILD := build/$(PRESET)
PYTHON := /usr/bin/python3

.PHONY: demo test build release deps wheel format lint bench docs test-asan test-tsan fuzz model sim chaos kubernetes clean help

help:  ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: deps  ## build, start a cluster on this machine, stream two epochs of real photographs
	@cmake --preset dev > /dev/null && cmake --build --preset dev -j$(JOBS) --target headrace
	@scripts/demo.sh build/dev

test: build  ## build everything and run every test
	@ctest --test-dir $(BUILD) --output-on-failure -j$(JOBS) --no-tests=error

build: deps  ## build everything (PRESET=dev|release|asan|tsan)
	@cmake --preset $(PRESET) > /dev/null
	@cmake --build --preset $(PRESET) -j$(JOBS)

release:  ## build everything as it ships
	@$(MAKE) build PRESET=release

wheel: deps  ## build the Python package's wheel into build/wheels and test it in a fresh environment
	@PYTHON=$(PYTHON) scripts/make-wheel.sh $(JOBS)

deps:
	@scripts/install-deps.sh

# ONLY="transport_test client_test": these alone, and what they link.
only_targets = $(if $(ONLY),--target $(ONLY))
only_tests = $(if $(ONLY),-R '^($(shell echo $(ONLY) | tr ' ' '|'))$$')

test-asan: deps  ## unit and end-to-end tests under AddressSanitizer and UBSan (ONLY="sync_test ...")
	@cmake --preset asan > /dev/null && cmake --build --preset asan -j$(JOBS) $(only_targets)
	@ASAN_OPTIONS=detect_leaks=1 ctest --test-dir build/asan --output-on-failure -j$(JOBS) -LE no-sanitizer --no-tests=error $(only_tests)

test-tsan: deps  ## unit and end-to-end tests under ThreadSanitizer (ONLY="sync_test ...")
	@cmake --preset tsan > /dev/null && cmake --build --preset tsan -j$(JOBS) $(only_targets)
	@TSAN_OPTIONS="halt_on_error=1 suppressions=$(CURDIR)/tests/sanitizers/tsan.supp" ctest --test-dir build/tsan --output-on-failure -j$(JOBS) -LE no-sanitizer --no-tests=error $(only_tests)

fuzz:  ## build the fuzz targets and run each for FUZZ_SECONDS (default 30)
	@scripts/fuzz.sh

model: deps  ## every state of small clusters around the real dispatcher: minutes, gigabytes (ctest has a part)
	@cmake --preset $(PRESET) > /dev/null && cmake --build --preset $(PRESET) -j$(JOBS) --target model_test
	@HEADRACE_MODEL=whole $(BUILD)/tests/model/model_test

# HEADRACE_SIM_SEED=n replays one.
sim: deps  ## HISTORIES (100,000) histories of a simulated cluster, each from its seed, from SEED (1) on
	@cmake --preset $(PRESET) > /dev/null && cmake --build --preset $(PRESET) -j$(JOBS) --target sim_run
	@$(BUILD)/tests/sim/sim_run $(or $(HISTORIES),100000) $(or $(SEED),1) $(JOBS)

chaos: build  ## RUNS (200) runs of real processes that are killed, stopped and cut off, from SEED (1) on
	@HEADRACE_SOURCE_DIR=$(CURDIR) HEADRACE_BUILD_DIR=$(CURDIR)/$(BUILD) PYTHONPATH=$(BUILD)/python PYTHONDONTWRITEBYTECODE=1 \
	  $(PYTHON) tests/chaos/run.py --runs $(or $(RUNS),200) --seed $(or $(SEED),1)

kubernetes: build  ## the driver and the chart against a real kube-apiserver, which is built first (ten minutes, once)
	@scripts/install-kubernetes.sh > /dev/null && scripts/install-chart-tools.sh helm > /dev/null
	@ctest --test-dir $(BUILD) --output-on-failure -L kubernetes --no-tests=error

format:  ## rewrite the sources in the house style
	@scripts/install-deps.sh --lint
	@git ls-files '*.cc' '*.h' | xargs -P$(JOBS) -n 20 $(shell command -v clang-format-19 || echo clang-format) -i

lint:  ## clang-format (check only), clang-tidy on what changed, the arrows
	@scripts/install-deps.sh --lint
	@scripts/lint.sh $(BUILD)

bench: release  ## run the benchmark suites (SUITE=transport,images)
	@bench/run --suite $(or $(SUITE),transport,images)

docs: build  ## write docs/steps.md anew from the declarations in the code
	@$(BUILD)/pipeline/docs/hr_registry_docs steps > docs/steps.md

clean:  ## remove the build tree
	rm -rf build
