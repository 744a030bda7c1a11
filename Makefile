# Every target installs what it needs: on a new machine, run `make demo` or `make test`.

PYTHON ?= python3
VENV := .venv
comma := ,
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
KERNELS := $(VENV)/.kernels
DEMO_KERNELS := $(VENV)/.demo-kernels
# One BLAS thread a process: clew's own parallel work is threads over trees and rows.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Compiled modules are kept: without them every process takes five seconds to start, not two.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: venv demo test test-all lint format docs bench clean

venv: $(STAMP) $(KERNELS)

# Installs clew in place with some of its extras.
define install
	@if $(BIN)/python -m pip install --quiet uv 2>/dev/null; then \
		VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --editable '$(1)'; \
	else \
		$(BIN)/python -m pip install --quiet --editable '$(1)'; \
	fi
endef

# What clew needs to run; the demo installs no more.
$(RUNTIME): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "clew needs Python 3.11 or newer; name one with 'make PYTHON=python3.12 $(MAKECMDGOALS)'"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "python3 -m venv failed: install your system's venv package (Debian: python3-venv)"; exit 1; }
	$(call install,.)
	@touch $(RUNTIME)

$(STAMP): $(RUNTIME)
	$(call install,.[all$(comma)dev])
	@touch $(STAMP)

# Numba's cache checks a kernel's own file, not the kernels that it calls: an edit compiles all anew.
# Here kernels compile in parallel; within the first command it takes twice as long.
$(KERNELS): $(wildcard src/clew/kernels/*.py src/clew/kernels/*/*.py) $(RUNTIME)
	@find src/clew/kernels -name "*.nb[ic]" -delete
	$(BIN)/clew compile
	@touch $(KERNELS)

# The demo compiles what it needs, once; all kernels take several times as long.
$(DEMO_KERNELS): $(wildcard src/clew/kernels/*.py src/clew/kernels/*/*.py) $(RUNTIME)
	@test -e $(KERNELS) || $(BIN)/clew compile --demo
	@touch $(DEMO_KERNELS)

demo: $(RUNTIME) $(DEMO_KERNELS)
	$(BIN)/clew demo

test: $(STAMP) $(KERNELS)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(STAMP) $(KERNELS)
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP) $(KERNELS)
	@rm -rf docs/api/generated # removes pages of names that no longer exist
	$(BIN)/sphinx-build -W --keep-going -j auto -b html docs docs/_build/html

bench: $(STAMP) $(KERNELS)
	$(BIN)/python -m benchmarks.kernels --quick
	$(BIN)/python -m benchmarks.papers cop_rf --quick

clean:
	rm -rf $(VENV) $(VENV)-peers docs/_build docs/auto_examples docs/api/generated clew-demo
