# make demo: environment, the three stages on the sample bank, scores, a report, an index and searches (under 10 minutes on 2 cores)
# make test: linter, types and tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN ?= runs/demo
LAUNCH := $(BIN)/accelerate launch --quiet --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no
export TOKENIZERS_PARALLELISM := false

.PHONY: demo stages table search chinese paraphrases solver solver-banks solver-figures publish publish-search publish-solver test clean

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/installed
	$(LAUNCH) pretrain/mlm.py --config configs/demo/mlm.yaml run.out=$(RUN)/mlm run.resume=true
	$(LAUNCH) pretrain/moco.py --config configs/demo/moco.yaml run.out=$(RUN)/moco run.resume=true \
	  model.start=$(RUN)/mlm/model
	$(LAUNCH) finetune/similar.py --config configs/demo/similar.yaml run.out=$(RUN)/scl run.resume=true \
	  model.start=$(RUN)/moco/model
	$(BIN)/tqnet evaluate stages --bank assets/sample --out $(RUN) --title 'tqnet on its sample bank' \
	  TF-IDF=tfidf BM25=bm25 'start encoder=encoder:minilm' \
	  MLM=$(RUN)/mlm/model MoCo=$(RUN)/moco/model SCL=$(RUN)/scl/model
	$(BIN)/tqnet index assets/sample --model $(RUN)/scl/model --out $(RUN)/index --replace
	$(BIN)/tqnet search $(RUN)/index -k 3 --text 'Find the area of a triangle with base $$6$$ and height $$\dfrac12$$.'
	$(BIN)/tqnet search $(RUN)/index -k 3 --text '某商品降价20%后售价为80元，原价是多少元？' --filter 'difficulty<=3'
	$(BIN)/tqnet search $(RUN)/index -k 3 --image assets/sample/images/s0005-1.png

# The stages on a bank of your own: make stages BANK=opl DATA=path/to/opl; every stage resumes where it was stopped.
RUNS := runs/$(BANK)
SETTINGS := data.bank=$(DATA) run.resume=true
stages: $(VENV)/installed
	$(if $(and $(BANK),$(DATA)),,$(error usage: make stages BANK=opl|geometry|openstax DATA=FOLDER))
	$(LAUNCH) pretrain/mlm.py --config configs/$(BANK)/mlm.yaml $(SETTINGS) run.out=$(RUNS)/mlm
	$(LAUNCH) pretrain/moco.py --config configs/$(BANK)/moco.yaml $(SETTINGS) run.out=$(RUNS)/moco \
	  model.start=$(RUNS)/mlm/model
	$(LAUNCH) finetune/similar.py --config configs/$(BANK)/similar.yaml $(SETTINGS) run.out=$(RUNS)/scl \
	  model.start=$(RUNS)/moco/model
	$(BIN)/tqnet evaluate stages --bank $(DATA) --out $(RUNS) --title 'tqnet on $(BANK)' \
	  TF-IDF=tfidf BM25=bm25 'start encoder=encoder:minilm' \
	  MLM=$(RUNS)/mlm/model MoCo=$(RUNS)/moco/model SCL=$(RUNS)/scl/model

# One of the paper's tables, or what goes beyond them: make table SUITE=table4 DATA=path/to/geometry SEEDS=3
# Without training what has been measured before: SCORES=docs/results/tables/scores
SEEDS := 1
SUITES := $(patsubst configs/tables/%.yaml,%,$(wildcard configs/tables/*.yaml))
table: $(VENV)/installed
	$(if $(and $(SUITE),$(DATA)),,$(error usage: make table SUITE=NAME DATA=FOLDER [SEEDS=3 SCORES=FOLDER], of $(SUITES)))
	$(BIN)/tqnet bench --suite configs/tables/$(SUITE).yaml --bank $(DATA) --seeds $(SEEDS) --out runs/bench \
	  $(if $(SCORES),--scores $(SCORES))

# FSE's search on a bank with groups, from a model of your own: make search BANK=opl DATA=FOLDER MODEL=runs/opl/scl/model
# What is similar, where groups do not say it: SIMILAR=3, the level of the hierarchy
# Of 120 questions, each pair once, and 128 tokens: the four rows see 16 times the pairs of the first, hours on a processor core
FOUND = runs/search/$(BANK)
SIMILARITY = $(if $(SIMILAR),--similar-level $(SIMILAR)) --without-duplicates
search: $(VENV)/installed
	$(if $(and $(BANK),$(DATA),$(MODEL)),,$(error usage: make search BANK=NAME DATA=FOLDER MODEL=DIR [SIMILAR=LEVEL]))
	test -d $(FOUND)/index || $(BIN)/tqnet index $(DATA) --model $(MODEL) --out $(FOUND)/index
	$(BIN)/tqnet evaluate retrieval $(FOUND)/index $(SIMILARITY) --out $(FOUND)/recall
	$(BIN)/tqnet evaluate retrieval $(FOUND)/index $(SIMILARITY) --split valid --text-weights 0.25 0.5 1 2 --out $(FOUND)/weights
	$(BIN)/tqnet evaluate concepts 'start encoder=encoder:minilm' model=$(MODEL) --bank $(DATA) --out $(FOUND)/concepts
	$(if $(SIMILAR),,$(BIN)/tqnet evaluate ranking $(FOUND)/index --concepts $(SIMILARITY) --out $(FOUND)/known)
	for row in encoder mtl moe conl; do \
	  $(LAUNCH) finetune/ranker.py --config configs/small/ranker.yaml --config configs/ranking/$$row.yaml \
	    data.bank=$(DATA) $(if $(SIMILAR),data.similar_level=$(SIMILAR)) model.start=$(MODEL) \
	    index=$(FOUND)/index queries=120 run.epochs=1 max_length=128 run.out=$(FOUND)/$$row run.resume=true || exit 1; \
	done
	$(BIN)/tqnet evaluate ranking $(FOUND)/index encoder=$(FOUND)/encoder/model +MTL=$(FOUND)/mtl/model \
	  +MoE=$(FOUND)/moe/model +ConL=$(FOUND)/conl/model $(SIMILARITY) --out $(FOUND)/ranking

# QuesCo on Chinese questions, settings by cross-validation first: make chinese DATA=FOLDER (math23k, geometry, tal_zh)
CHINESE := runs/chinese
MERGE := $(BIN)/tqnet merge --on-error skip
chinese: $(VENV)/installed
	$(if $(DATA),,$(error usage: make chinese DATA=FOLDER with the banks math23k, geometry and tal_zh))
	$(MERGE) $(DATA)/math23k $(DATA)/geometry $(DATA)/tal_zh --split train --language zh --out $(CHINESE)/pretraining.jsonl
	$(MERGE) $(DATA)/tal_zh --split train --out $(CHINESE)/train.jsonl
	$(MERGE) $(DATA)/tal_zh --rename valid=test --out $(CHINESE)/tal_zh.jsonl
	$(BIN)/tqnet bench --suite configs/tables/chinese-folds.yaml --folds 5 --out runs/bench
	$(BIN)/tqnet bench --suite configs/tables/chinese.yaml --out runs/bench

# Solvers of word problems (mwp-cl), their tables and figures: make solver DATA=FOLDER (with math23k and mawps_asdiv);
# TABLES=mwp-english runs one of the tables alone. Of math23k, whose test set is kept apart, valid is the test and a twentieth
# of train is valid; Tables 4 to 6 have a third of train.
SOLVER := runs/solver
TABLES := mwp-math23k mwp-english mwp-bilingual mwp-collecting mwp-margin mwp-alpha
IMPORT := $(BIN)/tqnet import --replace
solver: solver-banks
	for table in $(TABLES); do \
	  $(BIN)/tqnet bench --suite configs/tables/$$table.yaml --seeds $(SEEDS) --out runs/bench || exit 1; \
	done
	for bank in $(patsubst mwp-%,%,$(filter mwp-math23k mwp-english mwp-bilingual,$(TABLES))); do \
	  $(MAKE) solver-figures BANK=$$bank || exit 1; \
	done

solver-banks: $(VENV)/installed
	$(if $(DATA),,$(error usage: make solver DATA=FOLDER with math23k and mawps_asdiv [TABLES=mwp-english SEEDS=3]))
	mkdir -p $(SOLVER)
	$(MERGE) $(DATA)/math23k --split train --fold 1/20 --out $(SOLVER)/zh-drawn.jsonl
	$(MERGE) $(SOLVER)/zh-drawn.jsonl --rename test=valid --out $(SOLVER)/zh-train.jsonl
	$(MERGE) $(DATA)/math23k --split valid --rename valid=test --out $(SOLVER)/zh-test.jsonl
	$(MERGE) $(SOLVER)/zh-train.jsonl $(SOLVER)/zh-test.jsonl --out $(SOLVER)/math23k.jsonl
	$(MERGE) $(SOLVER)/zh-train.jsonl --split train --fold 1/3 --out $(SOLVER)/zh-thirds.jsonl
	$(MERGE) $(SOLVER)/zh-thirds.jsonl --split test --rename test=train --out $(SOLVER)/zh-third.jsonl
	$(MERGE) $(SOLVER)/zh-train.jsonl --split valid --out $(SOLVER)/zh-valid.jsonl
	$(MERGE) $(SOLVER)/zh-third.jsonl $(SOLVER)/zh-valid.jsonl $(SOLVER)/zh-test.jsonl --out $(SOLVER)/math23k-part.jsonl
	$(IMPORT) $(DATA)/mawps_asdiv/raw_train.jsonl --set split=train --out $(SOLVER)/mawps
	$(IMPORT) $(DATA)/mawps_asdiv/raw_svamp_a.jsonl --set split=test --out $(SOLVER)/svamp
	$(MERGE) $(SOLVER)/mawps --fold 1/10 --out $(SOLVER)/en-drawn.jsonl
	$(MERGE) $(SOLVER)/en-drawn.jsonl --rename test=valid --out $(SOLVER)/en-train.jsonl
	$(MERGE) $(SOLVER)/en-train.jsonl $(SOLVER)/svamp --out $(SOLVER)/english.jsonl
	$(MERGE) $(SOLVER)/math23k.jsonl $(SOLVER)/english.jsonl --out $(SOLVER)/bilingual.jsonl
	for bank in math23k english bilingual; do \
	  $(BIN)/tqnet prototypes $(SOLVER)/$$bank.jsonl --out $(SOLVER)/$$bank-prototypes.jsonl > $(SOLVER)/$$bank.log || exit 1; \
	  tail -n 1 $(SOLVER)/$$bank.log; \
	done

# Of one of these banks and the models of its table: problems by size, the paper's Figures 3, 4, 6 and 8, and P@5 of problems
# of one prototype before and after
BERT = $(if $(filter bilingual,$(BANK)),mBERT-TD,BERT-TD)
LAST := import json, sys; print(json.load(open(sys.argv[1]))["rows"][sys.argv[2]]["costs"][0][-1]["training"])
trained = runs/bench/trainings/$$($(BIN)/python -c '$(LAST)' runs/bench/mwp-$(BANK)/results.json "$(1)")/model
SOLVERS = without=$(call trained,$(BERT)) with=$(call trained,$(BERT) with contrast)
solver-figures: $(VENV)/installed
	$(BIN)/tqnet evaluate solver $(SOLVERS) --bank $(SOLVER)/$(BANK).jsonl --out $(SOLVER)/results/$(BANK)/solved
	$(BIN)/tqnet evaluate stages TF-IDF=tfidf BM25=bm25 'start encoder=encoder:minilm' $(SOLVERS) \
	  --bank $(SOLVER)/$(BANK)-prototypes.jsonl --without-duplicates --out $(SOLVER)/results/$(BANK)/prototypes \
	  --title 'Problems of one prototype, $(BANK)'

# ParaQD's tables: make paraphrases DATA=FOLDER (with pool.jsonl, aqua_val.jsonl and the files of pairs); PAIRS=paraqd-losses
# runs one alone. A small model that restores questions stands in for a translator and a paraphraser: where these are at
# hand, write REWRITES by tqnet rewrite first.
PARAPHRASES := runs/paraqd
PAIRS := paraqd paraqd-seeds paraqd-operators paraqd-losses paraqd-made paraqd-rules paraqd-written
REWRITES := $(PARAPHRASES)/rewrites.jsonl
paraphrases: $(VENV)/installed
	$(if $(DATA),,$(error usage: make paraphrases DATA=FOLDER with pool.jsonl [PAIRS=paraqd-losses SEEDS=3]))
	for file in pool aqua_val aqua_test sawp_test; do test -f $(DATA)/$$file.jsonl || { echo "$(DATA)/$$file.jsonl: no such file"; exit 1; }; done
	test -f $(REWRITES) || $(MAKE) $(REWRITES) -o $(VENV)/installed
	test -f $(PARAPHRASES)/aqua_by_training_operators.jsonl || $(BIN)/tqnet perturb $(DATA)/aqua_test.jsonl --pairs \
	  --operators training --encoder encoder:minilm --out $(PARAPHRASES)/aqua_by_training_operators.jsonl
	for suite in $(PAIRS); do \
	  $(BIN)/tqnet bench --suite configs/tables/$$suite.yaml --bank $(DATA)/pool.jsonl --seeds $(SEEDS) --out runs/bench \
	    $(if $(SCORES),--scores $(SCORES)) || exit 1; \
	done

REWRITER := $(PARAPHRASES)/rewriter/model
REWRITE = $(BIN)/tqnet rewrite $(DATA)/pool.jsonl --limit 6000 --out $(PARAPHRASES)/made.jsonl
$(REWRITES): $(VENV)/installed
	$(LAUNCH) pretrain/rewriter.py --config configs/small/rewriter.yaml data.bank=$(DATA)/pool.jsonl run.epochs=8 \
	  run.out=$(dir $(REWRITER)) run.resume=true
	$(REWRITE) --operator lossy-paraphrase --model $(REWRITER)
	$(REWRITE) --operator back-translation --model $(REWRITER) $(REWRITER)
	mv $(PARAPHRASES)/made.jsonl $@

# Put what make stages or make table measured into docs/results.md: make publish BANK=opl, or SUITE=table4
publish: $(VENV)/installed
	$(if $(or $(BANK),$(SUITE)),,$(error usage: make publish BANK=opl|geometry|openstax, or SUITE=NAME of $(SUITES)))
	mkdir -p docs/results/$(or $(BANK),tables/$(SUITE))
	cp $(if $(BANK),$(RUNS),runs/bench/$(SUITE))/results.* docs/results/$(or $(BANK),tables/$(SUITE))/
	$(if $(SUITE),mkdir -p docs/results/tables/scores && cp runs/bench/scores/*.json docs/results/tables/scores/)
	rm -f docs/results/$(or $(BANK),tables/$(SUITE))/notes.md # they were about other numbers
	$(BIN)/python -m docs.collect

# The same of what make search measured: make publish-search BANK=opl
publish-search: $(VENV)/installed
	$(if $(BANK),,$(error usage: make publish-search BANK=NAME))
	for part in recall weights concepts $(if $(wildcard $(FOUND)/known),known) ranking; do \
	  to=docs/results/search/$(BANK)/$$part; rm -rf $$to; mkdir -p $$to; cp $(FOUND)/$$part/* $$to/ || exit 1; \
	done
	$(BIN)/python -m docs.collect

# The same of what make solver measured: make publish-solver
publish-solver: $(VENV)/installed
	for table in $(TABLES); do $(MAKE) publish SUITE=$$table || exit 1; done
	for bank in $(notdir $(wildcard $(SOLVER)/results/*)); do \
	  for part in solved prototypes; do \
	    to=docs/results/solver/$$bank/$$part; rm -rf $$to; mkdir -p $$to; \
	    cp $(SOLVER)/results/$$bank/$$part/results.* $$to/ || exit 1; \
	    cp $(SOLVER)/results/$$bank/$$part/*.png $$to/ 2> /dev/null || true; \
	  done; \
	done
	$(BIN)/python -m docs.collect

test: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

# What make demo and the builds leave; the trainings of make stages stay.
clean:
	rm -rf runs/demo build *.egg-info
