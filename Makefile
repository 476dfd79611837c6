# What one does with this project; `make` alone lists it. Needs Python 3.11 or newer, git, and Docker for `image`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

IMAGE ?= model-repo-drift
BASE ?= python:3.13-slim
DOCKER_BUILD_FLAGS ?=

CORPUS ?= ../shared/corpus
TEST_FLAGS ?=
LOCK_FLAGS ?=
UV_VERSION := 0.13.9
LOCK = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --custom-compile-command "make lock" $(LOCK_FLAGS)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint image bench bot-storm audit-proof corpus hostile lock schema readme picture tables release-dry-run clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort

setup: $(STAMP) ## make the environment with everything installed

$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: make setup PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -qq --require-hashes --requirement requirements/dev.txt
	$(BIN)/pip install -qq --no-deps --no-build-isolation --editable .
	touch $@

demo: setup ## print the comment about a model repository with half a fix
	$(BIN)/python tools/demo.py

test: setup ## run the tests; what a test needs and is not here is named
	$(BIN)/pytest --numprocesses auto --dist loadgroup -r s $(TEST_FLAGS)

lint: setup ## style, types, workflows
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/zizmor --offline --quiet --persona=pedantic .github action.yml examples/*.yml
	$(BIN)/python -m tools.actionlint .github/workflows/*.yml examples/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml examples/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml

image: setup ## build the container image (IMAGE=, BASE=, DOCKER_BUILD_FLAGS=)
	docker build $(DOCKER_BUILD_FLAGS) --build-arg BASE=$(BASE) --tag $(IMAGE) .

bench: setup ## compare our time with that of loading both revisions in transformers, and two workers of an audit with one
	$(BIN)/python -m tools.bench_render
	$(BIN)/python -m tools.bench_reading
	$(BIN)/python -m tools.bench_predict
	$(BIN)/python tools/bench.py
	$(BIN)/python -m tools.bench_audit

bot-storm: setup ## send 500 webhook deliveries to the bot while its workers are killed, on SQLite and on Redis (needs redis-server)
	$(BIN)/python -m tools.storm

audit-proof: setup ## audit 200 repositories, killed again and again (two minutes)
	MODEL_REPO_DRIFT_AUDITED=200 $(BIN)/pytest -q tests/test_audit.py -k whatever_ends_the_audit

corpus: setup ## run over the corpus of real repositories (CORPUS=) and write docs/corpus.md
	$(BIN)/python tools/corpus.py $(CORPUS)

hostile: setup ## compare every hostile template and write docs/hostile-templates.md
	$(BIN)/python -m tools.hostile

readme: setup ## write the generated parts of the README and the golden comments
	UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/test_readme.py tests/test_publish_comment.py tests/test_publish_views.py

picture: setup ## draw the comment of the demo as GitHub shows it into docs/comment.png (needs chromium)
	$(BIN)/python -m tools.picture

tables: setup ## enter what the installed transformers knows into the tables of data
	for table in tables model_types tables_config tokenizer_classes tokenizer_backends; do $(BIN)/python -m tools.$$table; done

lock: setup ## lock the requirements (LOCK_FLAGS=--upgrade for newer versions)
	$(BIN)/pip install --quiet uv==$(UV_VERSION)
	$(LOCK) --output-file requirements/run.txt --extra server pyproject.toml
	$(LOCK) --constraint requirements/run.txt --extra server --group dev --output-file requirements/dev.txt pyproject.toml
	echo hatchling | $(LOCK) --constraint requirements/dev.txt --output-file requirements/build.txt -

schema: setup ## write schema/*.json from the records
	$(BIN)/python -m bot.schema

release-dry-run: setup ## do what a release does, as far as this machine can (docs/releasing.md)
	$(BIN)/python -m tools.release_dry_run

clean: ## remove the environment and everything that was made
	rm -rf $(VENV) .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
