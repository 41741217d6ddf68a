# Hushtable: a handful of recipes. `make run` and `make test` are the two commands of the README.
SHELL := /bin/bash
# Build output lives outside the clone, so that clones share it.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/hushtable/target
VENV := $(CARGO_TARGET_DIR)/../venv
QUERY := SELECT ward, COUNT(*), AVG(age), STDDEV(charges) FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward

.PHONY: build run test test-slow lint docs bench clean

build:
	cargo build --release --locked -p hush-cli -p hush-server

run: build
	$(CARGO_TARGET_DIR)/release/hush run examples/patients.csv "$(QUERY)" --clear ward,year --verify

test: build $(VENV)/ok
	cargo test --locked -p hush-arith -p hush-params -p hush-kernels -p hush-plan
	cargo test --release --locked --workspace
	HUSH_CPU=scalar cargo test --release --locked -p hush-ring -p hush-schemes -p hush-keys
	HUSH_BIN=$(CARGO_TARGET_DIR)/release $(VENV)/bin/python -m pytest -q tests

test-slow: test
	cargo test --release --locked --workspace -- --ignored
	HUSH_BIN=$(CARGO_TARGET_DIR)/release $(VENV)/bin/python -m pytest -q tests -m slow

lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	python3 tools/check_layers.py
	python3 tools/check_size.py

docs: $(VENV)/ok
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	$(VENV)/bin/sphinx-build -q -W -b html docs $(CARGO_TARGET_DIR)/docs

bench: build
	$(CARGO_TARGET_DIR)/release/hush bench split-table

$(VENV)/ok: tools/requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check -r tools/requirements.txt
	touch $@

clean:
	cargo clean
