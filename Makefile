# SPDX-License-Identifier: MIT
# A front for people who type `make`: the build itself is CMake, with the presets of
# CMakePresets.json. Each goal first installs the Debian packages it misses, or names them.

.DEFAULT_GOAL := help
JOBS := $(shell nproc)

# Configure, build and test one preset. `ctest` fails if there are no tests.
define preset
	cmake --preset $(1) > build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }
	cmake --build --preset $(1) -j $(JOBS)
	ctest --preset $(1) -j $(JOBS) --output-junit $(CURDIR)/build/$(1).xml
endef

.PHONY: help demo test test-all bench bench-originals misuse python rust packages soak fuzz prove coverage
.PHONY: sizes ports docs evidence busy format clean

help:
	@echo "make demo       real programs, unchanged, on pools beside malloc; and a packet pipeline: RUNS=5"
	@echo "make test       build and test with this machine's compiler, sanitizers included"
	@echo "make test-all   the same, and clang, 32 bit, other processors, Windows, Cortex-M"
	@echo "make bench      measure beside other allocators; results in build/bench"
	@echo "make bench-originals   the older libraries' own benchmarks; build/bench/originals.html"
	@echo "make misuse     41 faults of malloc under this library, and under other allocators"
	@echo "make python     build and test wheels of bindings/python; registry: PYTHONS=\"python3 ...\""
	@echo "make rust       check, build, test and package the crates of bindings/rust; registry"
	@echo "make packages   try the packages for other build systems; registry: TRY=\"meson conan\""
	@echo "make docs       the reference of all calls, with the guides: build/docs/html"
	@echo "make soak       threads, forks, limits and whole programs for an hour: MINUTES=60"
	@echo "make fuzz       look for inputs that go wrong: FUZZ=\"--seconds 600 pools\""
	@echo "make prove      prove the free list, and check every short history: GOALS=\"list shared\""
	@echo "make evidence   the matrix of clauses, tests and proof goals: build/evidence/matrix.md"
	@echo "make coverage   code, branches and conditions (MC/DC) of the core"
	@echo "make ports      compile and link for FreeBSD, macOS, Windows on Arm, LoongArch; registry"
	@echo "make sizes      code, data and stack on Cortex-M"
	@echo "make busy       the tests of a preset, built before, under load: PRESET=release ROUNDS=10 LOAD=15"
	@echo "make format     format the sources"
	@echo "make clean      remove build/"

build:
	@mkdir -p build

demo: | build
	@scripts/setup.sh test
	@cmake --preset release > build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) --target eggbox-demo eggbox_command eggbox-malloc
	@python3 scripts/demo.py build/release $(RUNS)

test: | build
	@scripts/setup.sh test
	@python3 scripts/python.py fetch
	$(call preset,dev)
	$(call preset,tsan)
	$(call preset,release)
	@python3 scripts/slowest.py dev tsan release

test-all: test coverage sizes docs
	$(call preset,dev-clang)
	scripts/lint.sh
	$(call preset,release-clang)
	$(call preset,m32)
	$(call preset,aarch64)
	$(call preset,armhf)
	$(call preset,s390x)
	$(call preset,riscv64)
	$(call preset,ppc64le)
	$(call preset,windows)
	$(call preset,bench)
	@python3 scripts/slowest.py

coverage: | build
	@scripts/setup.sh all
	@rm -rf build/coverage/profiles
	$(call preset,coverage)
	python3 scripts/mcdc.py build/coverage

ports:
	python3 scripts/ports.py

sizes: | build
	@scripts/setup.sh all
	@python3 scripts/freertos.py fetch
	$(call preset,embed-m0plus)
	$(call preset,embed)
	python3 scripts/size_table.py --compare
	python3 scripts/cost_table.py

bench: | build
	@scripts/setup.sh bench
	python3 scripts/bench.py
	python3 scripts/bench_heap.py
	python3 scripts/bench_shared.py

bench-originals: | build
	@scripts/setup.sh bench
	python3 scripts/bench_originals.py

misuse: | build
	@scripts/setup.sh test
	@scripts/setup.sh bench
	@cmake --preset release > build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) --target misuse_faults --target eggbox-malloc
	python3 scripts/misuse_table.py --json build/misuse.json
	python3 scripts/misuse_table.py --catalogue

docs: | build
	@scripts/setup.sh docs
	@mkdir -p build/docs
	doxygen docs/Doxyfile
	@echo "build/docs/html/index.html"

python: | build
	@scripts/setup.sh test
	@cmake --preset release > build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) --target eggbox_command eggbox-malloc
	python3 scripts/python.py wheels $(or $(PYTHONS),python3)

rust:
	python3 scripts/rust.py all

packages: | build
	@scripts/setup.sh packages
	python3 scripts/packages.py $(or $(TRY),all)

soak: | build
	@scripts/setup.sh test
	@cmake --preset release > build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build --preset release -j $(JOBS)
	python3 scripts/soak.py --minutes $(or $(MINUTES),60)

fuzz: | build
	@scripts/setup.sh fuzz
	nice python3 scripts/fuzz.py $(FUZZ)

evidence: | build
	@mkdir -p build/evidence
	python3 scripts/clauses.py . --matrix build/evidence/matrix.md

prove: | build
	@scripts/setup.sh prove
	python3 scripts/prove.py $(GOALS)

busy:
	python3 scripts/busy.py $(or $(PRESET),release) --rounds $(or $(ROUNDS),10) \
	    --load $(or $(LOAD),15) --jump

format:
	@scripts/setup.sh all
	@scripts/lint.sh --fix

clean:
	rm -rf build
