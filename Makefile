# Everything from a bare clone, with nothing but Python and make.
PYTHON ?= python3
ARGS ?=
FUZZ ?= 2000
FUZZ_FILES ?= 12500

bin := .venv/bin
# The folders too: a file that is gone changes nothing else.
sources := $(shell find src \( -name __pycache__ -o -name '.?*' \) -prune -o -print) pyproject.toml CMakeLists.txt LICENSE
kernel_files := $(wildcard src/hidiv/kernels/*/*.[ch]pp) tests/sanitize/fuzz.cpp

.PHONY: help demo test bench docs lint format install test-install test-lowest wheel test-sanitize test-peers test-adapters fuzz clean
.DELETE_ON_ERROR:
.PRECIOUS: .venv-%/.installed

help:
	@echo "make demo          what hidiv does, on the models of the paper"
	@echo "make test          the tests; ARGS=\"-k joint\" chooses among them"
	@echo "make bench         how fast, as ratios measured in one run"
	@echo "make docs          the documentation, in docs/_build/html"
	@echo "make lint          ruff, mypy, import-linter, clang-format; make format tidies up"
	@echo "make test-install  the install itself: with a compiler, without one, with a C++ error"
	@echo "make test-lowest   the tests on the oldest numpy, scipy and click that pyproject.toml allows"
	@echo "make wheel         the source archive and a wheel in dist, each tried in an empty environment"
	@echo "make test-peers    smoothing against dynamax, which brings jax: an environment of its own"
	@echo "make test-adapters models of pomegranate, Pyro (torch), dynamax, TFP (jax) and sktime, each in an environment of its own"
	@echo "make test-sanitize the kernels on random inputs, under AddressSanitizer and UBSan; ROUNDS=100 for a short look"
	@echo "make fuzz          the laws and 100,000 changed files, new ones every time: minutes to hours; FUZZ=200 is shorter"
	@echo "make clean         remove everything make made"

demo: install
	@$(bin)/hidiv demo

test: install .venv/.with-test
	@$(bin)/python -m pytest -n auto --dist worksteal $(ARGS)

bench: install .venv/.with-bench
	@$(bin)/python -m benchmarks $(ARGS)

docs: install .venv/.with-docs
	@$(bin)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

lint: install .venv/.with-test .venv/.with-lint
	@$(bin)/ruff check --quiet .
	@$(bin)/ruff format --quiet --check .
	@$(bin)/clang-format --dry-run -Werror $(kernel_files)
	@$(bin)/mypy
	@$(bin)/lint-imports --no-logo

format: .venv/.with-lint
	@$(bin)/ruff check --quiet --fix .
	@$(bin)/ruff format .
	@$(bin)/clang-format -i $(kernel_files)

# A fallback to pure Python is told again every time, until it is mended.
install: .venv/.installed
	@if [ -s .venv/.fallback ]; then cat .venv/.fallback >&2; fi

test-install:
	@PYTHON="$(PYTHON)" bash tests/install/run

wheel: install .venv/.with-release
	@sh tools/wheel

# Files that pytest collects in the checkout, run on what .venv-lowest holds.
test-lowest: install .venv-lowest/.installed
	@.venv-lowest/bin/python -m pytest -n auto --dist worksteal $(or $(ARGS),tests/recursions tests/emissions tests/models tests/inference tests/divergences tests/test_reference.py)

test-peers: install .venv-peers/.installed
	@.venv-peers/bin/python -m tests.peers.dynamax_smoother

test-adapters: test-adapters-torch test-adapters-jax test-adapters-sktime

# Files that only these targets collect. A library that is missing fails them; what a library warns about is its own.
test-adapters-%: install .venv-with-%/.installed
	@.venv-with-$*/bin/python -m pytest -W default tests/adapters/with_$*/check_*.py $(ARGS)

# Every law of tests/laws on FUZZ new pairs of models, every kind of change to files FUZZ_FILES times: 8 kinds, 100,000
# files; and the random pairs of other tests that other runs have a part of.
fuzz: install .venv/.with-test
	@HIDIV_FUZZ=$(FUZZ_FILES) $(bin)/python -m pytest -n auto tests/files/test_json_fuzz.py $(ARGS)
	@HIDIV_FUZZ=$(FUZZ) $(bin)/python -m pytest -n auto --dist worksteal tests/laws tests/divergences tests/comparison $(ARGS)

test-sanitize: install
	@mkdir -p build
	@PATH="$$PATH:$(CURDIR)/$(bin)" cmake -S . -B build/fuzz -DHIDIV_FUZZ=ON -DCMAKE_BUILD_TYPE=None >build/fuzz.log
	@PATH="$$PATH:$(CURDIR)/$(bin)" cmake --build build/fuzz --parallel 2 >>build/fuzz.log || { tail -n 20 build/fuzz.log; exit 1; }
	@build/fuzz/fuzz $(ROUNDS)
	@PATH="$$PATH:$(CURDIR)/$(bin)" cmake -S . -B build/asan -DHIDIV_SANITIZE=ON -DCMAKE_BUILD_TYPE=None \
	  -DPython_EXECUTABLE=$(CURDIR)/$(bin)/python -Dnanobind_DIR="$$($(bin)/python -m nanobind --cmake_dir)" >build/asan.log
	@PATH="$$PATH:$(CURDIR)/$(bin)" cmake --build build/asan --parallel 2 >>build/asan.log || { tail -n 20 build/asan.log; exit 1; }
	@LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	  $(bin)/python tests/sanitize/fuzz.py --kernels build/asan --rounds $(or $(ROUNDS),500)

clean:
	rm -rf .venv .venv-lowest .venv-peers .venv-with-torch .venv-with-jax .venv-with-sktime build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis docs/_build docs/pictures docs/made docs/api

.venv/.created:
	@PYTHON="$(PYTHON)" sh tools/venv
	@touch $@

.venv/.installed: .venv/.created $(sources) tools/install
	@sh tools/install package
	@touch $@

# .venv-peers, .venv-with-torch, .venv-with-jax, .venv-with-sktime: environments of their own for what is heavy.
.venv-%/.installed: .venv/.installed
	@sh tools/install beside $*
	@touch $@

# .venv/.with-test, .with-lint, .with-bench: the extra of that name.
.venv/.with-%: pyproject.toml | .venv/.installed
	@sh tools/install extra $*
	@touch $@
