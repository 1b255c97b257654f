# Every command sets up what it needs first; with nothing changed that takes a second.
PYTHON ?= python3
BIN := .venv/bin
PORT ?= 8000
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYDEVD_DISABLE_FILE_VALIDATION := 1
# Small models run fastest on one thread; two notebooks run side by side instead.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help book pdf serve lab test clean chromium experiments benchmark benchmark-model benchmark-figures benchmark-pages benchmark-instruments benchmark-build

help:
	@echo "make book         set up, build the book, say where to open it"
	@echo "make serve        build the book and serve it on localhost:$(PORT)"
	@echo "make pdf          build the book and print it to one PDF (adds Chromium if there is none)"
	@echo "make lab          set up and open the notebooks in JupyterLab"
	@echo "make test         set up and run every test"
	@echo "make experiments  train again what the chapters keep in book/data (40 minutes)"
	@echo "make benchmark    measure the model against others, the instruments, the figures in a browser, and the build"
	@echo "                  (one of them: make benchmark-model, benchmark-instruments, benchmark-figures, benchmark-pages, benchmark-build)"

.venv/pip:
	@echo "Making .venv"
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v < (3, 14) else f"Python 3.11 to 3.13 is needed; $(PYTHON) is {v.major}.{v.minor}. Name another one: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv .venv || { echo "Python's venv module is missing: apt-get install python3-venv"; rm -rf .venv; exit 1; }
	@touch $@

.venv/book: .venv/pip requirements.txt constraints.txt pyproject.toml
	@echo "Installing what the book needs into .venv (minutes the first time)"
	@$(BIN)/pip install --quiet --constraint constraints.txt --requirement requirements.txt
	@$(BIN)/jupyter labextension disable --level=sys_prefix @jupyterlab/apputils-extension:announcements >/dev/null 2>&1
	@touch $@

.venv/test: .venv/book
	@echo "Installing what the tests need into .venv"
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $@

book: .venv/book
	@echo "Building the book"
	@mkdir -p _build
	@$(BIN)/jupyter-book build . -W --keep-going -n >_build/log.txt 2>&1 || { cat _build/log.txt; exit 1; }
	@echo "Open _build/html/index.html, or run: make serve"

.venv/pdf: .venv/book
	@echo "Installing what the printing needs into .venv"
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[pdf]'
	@touch $@

# The PDF also lies beside the pages, so that publishing them publishes it.
pdf: .venv/pdf book chromium
	@echo "Printing the book (a minute)"
	@$(BIN)/python -m printing
	@cp _build/anatomy-of-the-transformer.pdf _build/html/
	@echo "Open _build/anatomy-of-the-transformer.pdf"

serve: book
	@echo "Serving the book on http://localhost:$(PORT) (stop with Ctrl-C)"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

lab: .venv/book
	@echo "Opening the notebooks in JupyterLab on localhost (stop with Ctrl-C)"
	@$(BIN)/jupyter lab --ServerApp.ip=127.0.0.1 --ServerApp.root_dir=book \
		$(if $(filter 0,$(shell id -u)),--allow-root)

chromium:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome google-chrome-stable; do \
		[ -n "$$name" ] && command -v "$$name" >/dev/null && exit 0; done; false \
		|| { echo "Installing Chromium"; $(if $(filter 0,$(shell id -u)),,sudo )sh -c 'apt-get update -qq && apt-get install -y -qq chromium fonts-noto-cjk >/dev/null'; } \
		|| { echo "No Chromium: install it, or name yours: make CHROMIUM=/path/to/chrome"; exit 1; }

test: .venv/test chromium
	@echo "1/5 style"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet .
	@echo "2/5 the library, and the habits of the notebooks"
	@$(BIN)/pytest -n 2 --dist loadfile --ignore tests/book
	@echo "3/5 the notebooks"
	@$(BIN)/pytest -n 2 --dist loadfile -W default --nbval-lax --nbval-current-env --nbval-cell-timeout=120 book
	@echo "4/5 the book"
	@$(MAKE) --no-print-directory book
	@echo "5/5 the built book and JupyterLab, in a browser"
	@$(BIN)/pytest -n 2 --dist loadgroup tests/book

# Each script names the chapter that reads its table, and can be run alone.
experiments: .venv/book
	@for script in experiments/*.py; do echo "Running $$script"; $(BIN)/python $$script || exit 1; done

# What only the benchmark needs stands beside the packages that the tests see.
.venv/benchmark: .venv/test benchmarks/requirements.txt
	@echo "Installing what the model is compared with into .venv/beside"
	@rm -rf .venv/beside
	@$(BIN)/pip install --quiet --prefix .venv/beside --constraint constraints.txt --requirement benchmarks/requirements.txt
	@touch $@

benchmark: benchmark-model benchmark-instruments benchmark-figures benchmark-pages benchmark-build

benchmark-model: .venv/benchmark
	@echo "Measuring the model against others (four minutes)"
	@PYTHONPATH=$$(echo .venv/beside/lib/python*/site-packages) $(BIN)/python -m benchmarks.model --record

benchmark-figures: .venv/test chromium
	@echo "Measuring the figures of a sample page"
	@$(BIN)/python -m benchmarks.figures --record

benchmark-pages: .venv/test chromium book
	@echo "Measuring how soon the text of each page can be read"
	@$(BIN)/python -m benchmarks.pages --record

benchmark-instruments: .venv/test
	@echo "Measuring what the instruments cost (three minutes)"
	@$(BIN)/python -m benchmarks.health --record
	@$(BIN)/python -m benchmarks.attention_statistics --record
	@$(BIN)/python -m benchmarks.sweep --record

benchmark-build: .venv/test
	@echo "Measuring how long the book takes to build, cold and warm (five minutes)"
	@$(BIN)/python -m benchmarks.build --record

clean:
	@echo "Removing the built book and its cache"
	@rm -rf _build
