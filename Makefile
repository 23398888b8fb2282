# Canton: `make test` on a fresh machine sets everything up; `make help` lists the rest.
PYTHON ?= python3
VENV   ?= .venv
TESTS  ?= tests
EMULATOR_TESTS ?= tests
SPECS  ?= ../shared/specs
# Tests wait for processes, databases and clocks a third of their time: one worker more than there are cores.
JOBS   ?= $(shell expr 1 + `getconf _NPROCESSORS_ONLN`)

bin   := $(VENV)/bin
pip   := $(bin)/pip install --quiet --disable-pip-version-check
ready := $(VENV)/.ready
compile := $(bin)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links --upgrade

# Images of containers often set it. Every process that a test starts would then compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test check conformance bench wheel lock docs session clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(ready) ## create .venv from the lock file

# uv knows nothing of pip's configuration: a site's own mirror is passed on. If uv cannot, pip does the same in a minute.
$(ready): requirements/dev.txt requirements/uv.txt pyproject.toml emulator/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Canton needs Python 3.11 or newer; $(PYTHON) is older. Try: make test PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot create virtual environments. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "Setting up $(VENV), once: about 20 s, or a minute and a half if uv cannot be used"
	@echo "  1/5 a virtual environment with $(PYTHON) (4 s)"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "  2/5 uv, which installs packages quickly (2 s)"
	@$(pip) --require-hashes --requirement requirements/uv.txt
	@echo "  3/5 $$(grep -c '==' requirements/dev.txt) packages, as requirements/dev.txt locks them (5 to 15 s)"
	@index=$$($(bin)/pip config list | sed -n "s/^[a-z:]*\.index-url='\(.*\)'$$/\1/p" | tail -n 1); \
	UV_HTTP_TIMEOUT=15 UV_HTTP_RETRIES=1 $(bin)/uv pip install --quiet --compile-bytecode --python $(bin)/python $${index:+--default-index "$$index"} --require-hashes --requirement requirements/dev.txt || \
	{ echo "      uv could not; pip goes on (a minute)"; $(pip) --require-hashes --requirement requirements/dev.txt; }
	@echo "  4/5 Canton and the emulator, from this folder (4 s)"
	@$(pip) --no-deps --no-build-isolation --editable . --editable emulator
	@echo "  5/5 compiling, so that the first command starts as fast as the second (3 s)"
	@$(bin)/python -m compileall -q src tests emulator
	@touch $@

demo: $(ready) ## a server, two tenants, three people, a worker killed half-way; ONCE=1 stops at the end, EMPTY=1 starts an empty server
	@ONCE=$(ONCE) EMPTY=$(EMPTY) $(bin)/python -m demo.story

test: $(ready) ## run every test that needs neither root nor an external server
	$(if $(TESTS),$(bin)/pytest -n $(JOBS) --dist worksteal --durations=10 $(TESTS))
	$(if $(EMULATOR_TESTS),cd emulator && ../$(bin)/pytest -n $(JOBS) --dist worksteal --durations=10 $(EMULATOR_TESTS))

check: $(ready) ## lint, format, types and import contracts
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	$(bin)/lint-imports --no-cache
	cd emulator && ../$(bin)/mypy
	cd emulator && ../$(bin)/lint-imports --no-cache

conformance: $(ready) ## hold the emulator against HPE's OpenAPI files (SPECS=…) and redraw the table of operations
	@test -d "$(SPECS)" || { echo "HPE's OpenAPI files are not at $(SPECS); name their folder: make conformance SPECS=…"; exit 1; }
	SPECS="$(abspath $(SPECS))" PYTHONPATH=emulator/tests $(bin)/python -m conformance.operations_table
	cd emulator && SPECS="$(abspath $(SPECS))" ../$(bin)/pytest -n $(JOBS) tests/conformance

bench: $(ready) ## measure the budgets; table on screen, JSON under build/
	PYTHONPATH=tests:emulator/tests $(bin)/python -m bench $(ONLY)

docs: $(ready) ## redraw the figures and tables that are generated from code
	$(bin)/python -m canton.admin.reference docs

session: $(ready) ## run the commands of docs/session.svg, the picture in the README, and redraw it
	$(bin)/python -m demo.session_picture docs/session.svg

wheel: $(ready) ## build dist/: the two wheels, and the lock files to install them with
	rm -rf dist
	$(bin)/hatchling build --target wheel
	cd emulator && ../$(bin)/hatchling build --target wheel --directory ../dist
	cp requirements/run.txt dist/canton-requirements.txt
	cp requirements/emulator.txt dist/csm-emulator-requirements.txt

lock: $(ready) ## resolve the dependencies anew (hashes, no registry host)
	$(compile) pyproject.toml --output-file requirements/run.txt
	$(compile) emulator/pyproject.toml --output-file requirements/emulator.txt
	$(compile) pyproject.toml emulator/pyproject.toml --group dev --output-file requirements/dev.txt
	echo uv | $(bin)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links --no-annotate --constraint requirements/dev.txt - --output-file requirements/uv.txt

clean: ## remove everything that was generated here
	rm -rf .venv .venv-* build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests emulator -name __pycache__ -type d -prune -exec rm -rf {} +
