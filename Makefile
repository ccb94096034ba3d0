# The two commands of the README, and two for developers. The work is in cargo and xtask.
.PHONY: tour test lint help

help:
	@echo 'make tour   build tambour (as the tests do) and run the main job on the real data in data/'
	@echo 'make test   install what the tests need into .venv and run every test'
	@echo 'make lint   formatting, clippy, tidy, docs: what reviewers would say first'

tour:
	cargo run --quiet --package xtask -- tour

test:
	cargo run --quiet --package xtask -- test

lint:
	cargo run --quiet --package xtask -- lint
