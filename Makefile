# The doors. Each does its own set-up; repeating that costs under two seconds.
PREPARE = @sh packaging/find_python.sh packaging/prepare.py
IN_ENV = sh packaging/in_env.sh

.PHONY: run test test-oracle lint check bench lock clean

run: ## open the window (without a display: drive it offscreen through a real chat)
	$(PREPARE)
	@$(IN_ENV) run

test: ## all tests
	$(PREPARE)
	@$(IN_ENV) python -m pytest $(ARGS)

test-oracle: ## the engine's numbers against PyTorch and transformers, which it installs apart
	$(PREPARE)
	@sh packaging/oracle.sh
	@$(IN_ENV) python -m pytest tests/oracle $(ARGS)

lint: ## lint, type and import rules
	$(PREPARE) --without-model
	@$(IN_ENV) ruff check .
	@$(IN_ENV) ruff format --check .
	@$(IN_ENV) mypy
	@$(IN_ENV) lint-imports --no-cache

check: lint test ## what CI runs

bench: ## measure; ONLY=name runs one; the figures go to build/bench.json
	$(PREPARE)
	@$(IN_ENV) python -m tests.bench $(ONLY)

lock: ## pin every dependency anew, with hashes
	$(PREPARE) --without-model
	@sh packaging/lock.sh

clean: ## forget the environment and everything built
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache .hypothesis
