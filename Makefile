# make demo: environment, the three stages on the sample bank, scores and a report (under 10 minutes on 2 cores)
# make test: linter, types and tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN ?= runs/demo
LAUNCH := $(BIN)/accelerate launch --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no
export TOKENIZERS_PARALLELISM := false

.PHONY: demo test lint clean

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/installed
	$(LAUNCH) pretrain/autoencoder.py --config configs/demo/autoencoder.yaml run.out=$(RUN)/autoencoder
	$(LAUNCH) pretrain/mlm.py --config configs/demo/mlm.yaml run.out=$(RUN)/mlm model.visual_start=$(RUN)/autoencoder/model
	$(LAUNCH) pretrain/moco.py --config configs/demo/moco.yaml run.out=$(RUN)/moco model.start=$(RUN)/mlm/model
	$(LAUNCH) finetune/similar.py --config configs/demo/similar.yaml run.out=$(RUN)/scl model.start=$(RUN)/moco/model
	$(BIN)/tqnet evaluate stages --bank assets/sample --out $(RUN) --title 'tqnet on its sample bank' \
	  TF-IDF=tfidf BM25=bm25 'start encoder=encoder:minilm' \
	  MLM=$(RUN)/mlm/model MoCo=$(RUN)/moco/model SCL=$(RUN)/scl/model

test: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

clean:
	rm -rf runs build *.egg-info
