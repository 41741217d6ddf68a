# Hushtable: a handful of recipes. `make run` and `make test` are the two commands of the README.
SHELL := /bin/bash
# Build output lives outside the clone, so that clones share it.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/hushtable/target
VENV := $(CARGO_TARGET_DIR)/../venv
QUERY := SELECT ward, COUNT(*), AVG(age), STDDEV(charges) FROM patients WHERE year = 2023 GROUP BY ward ORDER BY ward

.PHONY: build edge worker lambda run test test-slow mutants lint docs pictures bench clean

# In one build, so that the native module of Python shares the query engine with the programs.
build:
	cargo build --release --locked -p hush-bench -p hush-cli -p hush-edge -p hush-lab -p hush-lambda -p hush-server -p hush-py -p hush-py-worker
	rm -rf $(CARGO_TARGET_DIR)/wheels
	python3 tools/wheel.py pyproject.toml $(CARGO_TARGET_DIR)/release/lib_hushtable.so $(CARGO_TARGET_DIR)/wheels
	python3 tools/wheel.py crates/hush-py-worker/pyproject.toml $(CARGO_TARGET_DIR)/release/lib_hushtable_worker.so $(CARGO_TARGET_DIR)/wheels

# The module for machines that evaluate and have no key, alone: a wheel of its own, without the owner's crates.
worker:
	cargo build --release --locked -p hush-py-worker
	python3 tools/wheel.py crates/hush-py-worker/pyproject.toml $(CARGO_TARGET_DIR)/release/lib_hushtable_worker.so $(CARGO_TARGET_DIR)/wheels

# The program for AWS Lambda in the archive that the platform takes, beside the template that deploys it (docs/guides/lambda.md).
lambda:
	cargo build --release --locked -p hush-lambda -p hush-cli
	python3 tools/package_lambda.py $(CARGO_TARGET_DIR)/release/hush-lambda $(CARGO_TARGET_DIR)/lambda/hush-lambda.zip
	cp deploy/lambda/template.yaml $(CARGO_TARGET_DIR)/lambda/

# The program for devices alone, small: without Parquet files (hush-edge-csv) and with them; without the clients of object stores.
edge:
	cargo build --profile edge --locked -p hush-edge --no-default-features
	cp $(CARGO_TARGET_DIR)/edge/hush-edge $(CARGO_TARGET_DIR)/edge/hush-edge-csv
	cargo build --profile edge --locked -p hush-edge --no-default-features --features parquet

# The main job needs `hush` alone. `hush-server` is built with it because its crates give the query engine's dependencies features that every
# other build has too: without it, `make test` would compile 67 crates again, the query engine among them.
run:
	cargo build --release --locked -p hush-cli -p hush-server
	$(CARGO_TARGET_DIR)/release/hush run examples/patients.csv "$(QUERY)" --clear ward,year --verify

# The crates without columns and files are tested in the dev profile, with debug assertions; those with them in the release
# profile, whose libraries are built anyway; then the programs, end to end.
LIGHT := -p hush-testkit -p hush-system -p hush-terminal -p hush-arith -p hush-params -p hush-kernels -p hush-ring -p hush-rlwe -p hush-schemes -p hush-tfhe -p hush-circuits \
	-p hush-expr -p hush-keys -p hush-lab -p hush-plan -p hush-protocol
HEAVY := -p hush-encode -p hush-table -p hush-exec -p hush-server -p hush-lambda -p hush-remote -p hush-edge -p hush-worker -p hush-client -p hush -p hush-bench -p hush-cli

test: build $(VENV)/ok
	$(VENV)/bin/pip install -q --disable-pip-version-check --no-deps --force-reinstall $(CARGO_TARGET_DIR)/wheels/*.whl
	cargo test --locked $(LIGHT)
	cargo test --release --locked $(HEAVY)
	HUSH_BIN=$(CARGO_TARGET_DIR)/release $(VENV)/bin/python -m pytest -q -n auto --maxprocesses 4 tests

test-slow: test edge $(VENV)-spark35/ok
	$(VENV)-spark35/bin/pip install -q --disable-pip-version-check --no-deps --force-reinstall $(CARGO_TARGET_DIR)/wheels/*.whl
	HUSH_CPU=scalar cargo test --locked $(LIGHT)
	HUSH_CPU=avx2 cargo test --locked $(LIGHT)
	HUSH_CPU=scalar cargo test --release --locked $(HEAVY)
	cargo test --locked $(LIGHT) --lib sweep -- --ignored
	cargo test --release --locked -p hush-lab --lib -- --ignored
	cargo test --release --locked $(HEAVY) --test service load -- --ignored
	HUSH_MUTATIONS=50 cargo test --locked $(LIGHT) --lib mutations
	HUSH_MUTATIONS=50 cargo test --locked $(LIGHT) --test mutations
	HUSH_MUTATIONS=50 cargo test --release --locked $(HEAVY) --test engine mutations
	HUSH_MUTATIONS=50 cargo test --release --locked $(HEAVY) --test mutations
	HUSH_MUTATIONS=50 cargo test --release --locked $(HEAVY) --lib mutations
	HUSH_BIN=$(CARGO_TARGET_DIR)/release HUSH_EDGE_BIN=$(CARGO_TARGET_DIR)/edge HUSH_SPARK_35=$(VENV)-spark35/bin/python $(VENV)/bin/python -m pytest -q tests -m slow
	$(if $(MUTANTS),$(MAKE) mutants CRATE=$(MUTANTS))

# Changes the code of one crate in small ways, one at a time, and lists the changes that no test of the crate notices: hours for
# most. In a scratch copy of the clone. FILES="-f src/noise.rs" restricts it. It wants `cargo install cargo-mutants --locked`.
CRATE ?= hush-params
mutants:
	@cargo mutants --version > /dev/null 2>&1 || { echo "make mutants needs cargo-mutants: cargo install cargo-mutants --locked"; exit 1; }
	cargo mutants --package $(CRATE) $(FILES) --jobs 1 --minimum-test-timeout 120 --output $(CARGO_TARGET_DIR) -- --locked --lib

lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p hush-edge --no-default-features -- -D warnings
	python3 tools/check_layers.py
	python3 tools/check_circles.py
	python3 tools/check_size.py
	python3 tools/check_words.py
	python3 tools/check_links.py
	python3 tools/draw_pictures.py --check
	! git grep -nE '^(<{7}|>{7}) '

docs: $(VENV)/ok
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	$(VENV)/bin/sphinx-build -q -W -b html docs $(CARGO_TARGET_DIR)/docs

# Draws docs/pictures; with CAPTURE=1 first runs the programs for what the pictures show of them.
pictures: $(if $(CAPTURE),build) $(VENV)/ok
	HUSH_BIN=$(CARGO_TARGET_DIR)/release $(VENV)/bin/python tools/draw_pictures.py $(if $(CAPTURE),--capture)

bench: build
	$(CARGO_TARGET_DIR)/release/hush bench split-table

$(VENV)/ok: tools/requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check -r tools/requirements.txt
	touch $@

# The oldest Spark that is served, in an environment of its own.
$(VENV)-spark35/ok: tools/requirements-spark35.txt
	python3 -m venv $(VENV)-spark35
	$(VENV)-spark35/bin/pip install -q --disable-pip-version-check -r tools/requirements-spark35.txt
	touch $@

clean:
	cargo clean
