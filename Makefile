# Two commands on a fresh machine:
#   make grade SUBMISSION=student42     sets everything up and grades
#   make test                           sets everything up and runs the project's tests

PYTHON ?= python3
VENV ?= .venv
SUBMISSION ?= student42
SUBMISSIONS_DIR ?= submissions
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

# Compiled once for all processes that a run starts: compiling labgrade takes half a second each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: grade test lint lint-types lint-style docs release setup tools test-tools bench bench-macs bench-onnx bench-sandbox bench-class bench-desk bench-collect bench-since golden proof soak mutation schema clean

# pytest ends with 1 where a check is not right: the submission was graded all the same. Where a task can't be read it
# ends with 2, and so does make.
grade: setup
	$(BIN)/python -m pytest --submission="$(SUBMISSION)" --submissions-dir="$(SUBMISSIONS_DIR)" || test $$? -eq 1

test: setup test-tools
	$(BIN)/python -m pytest -n auto -rs

# mypy runs beside the others.
lint: setup
	+@$(MAKE) --no-print-directory -j2 --output-sync=target lint-types lint-style

lint-types:
	$(BIN)/mypy

lint-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/labgrade validate specs
	$(BIN)/python tests/helpers/words.py
	$(BIN)/python tests/helpers/prose.py
	$(BIN)/labgrade schema | diff -u specs/task.schema.json - || \
		{ echo "specs/task.schema.json is stale: run make schema"; exit 1; }

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --site-dir site

release:
	.ci/release

schema: setup
	$(BIN)/labgrade schema --write specs/task.schema.json

bench: setup
	$(BIN)/python benchmarks/start.py

# What became of the costs since a commit: make bench-since SINCE=672a1f12
SINCE ?= 672a1f12
bench-since: setup
	$(BIN)/python benchmarks/since.py $(SINCE)

bench-macs: setup
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python benchmarks/macs.py

bench-onnx: setup
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python benchmarks/onnx_files.py
	$(BIN)/python benchmarks/compute.py

bench-sandbox: setup
	$(BIN)/python benchmarks/sandbox.py

bench-class: setup
	$(BIN)/python benchmarks/class.py

bench-desk: setup test-tools
	$(BIN)/python benchmarks/desk.py

bench-collect: setup test-tools
	$(BIN)/python benchmarks/collect.py

# What tests/golden expects, written anew: git then shows what became of it.
golden: setup
	LABGRADE_GOLDEN=1 $(BIN)/python -m pytest -n auto tests/golden

# ExecuTorch without what it names and what running programs of the portable kernels does not need.
soak: setup test-tools
	$(BIN)/python -m pip install --quiet --no-deps -c constraints.txt executorch torchao ruamel.yaml tabulate
	$(BIN)/python -m pip install --quiet --no-deps -r tests/soak/tools.txt
	$(BIN)/python -m pip install --quiet --no-deps --target .tools ultralytics-thop==2.2.3 torch-summary==1.4.5
	LABGRADE_TOOLS=.tools LABGRADE_SOAK=200 LABGRADE_KILLS=100 LABGRADE_CRASHES=200 LABGRADE_FUZZ=20000 LABGRADE_ALEXNET=1 LABGRADE_TRIES_TILINGS=3000 \
	LABGRADE_TRIES_EDITS=3000 LABGRADE_TRIES_CORRUPTED=8000 \
	$(BIN)/python -m pytest -n auto

proof: setup
	$(BIN)/python -m tests.reference.tiling.whole

mutation: setup
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,mutation]'
	$(BIN)/python benchmarks/mutation.py

setup: $(STAMP) tools

# What builds students' C++ programs. Without it those tasks alone are FAULT, so that nothing fails here.
tools:
	@$(call programs,cmake g++ make,cmake g++ make,build students' C++ programs)

# What some tests need beside: without it these are skipped, each with its reason.
test-tools:
	@$(call programs,chromium dot bwrap newuidmap git ssh /usr/sbin/sshd,chromium graphviz bubblewrap uidmap git \
		openssh-client openssh-server,serve some of the tests)
	@$(call programs,firefox-esr,firefox-esr,serves the tests of the desk)

# Install packages where one of the programs is missing: programs, their packages, what they are for.
programs = missing=; for tool in $(1); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	test -z "$$missing" || if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		echo "installing what is missing of$$missing, which $(3)"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(2) >/dev/null; } || \
		echo "that failed; by hand: apt install $(2)"; \
	else \
		echo "not here:$$missing, which $(3); on Debian and Ubuntu: sudo apt install $(2)"; \
	fi

# torch is installed first and pinned by constraints.txt, so that no other package pulls a build for another device.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "labgrade needs Python 3.11 or newer; name one with: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "no virtual environment could be made; on Debian and Ubuntu: sudo apt install python3-venv"; exit 1; }
	@echo "setting up $(VENV): this downloads PyTorch once and takes some minutes"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache
