# make demo needs Go alone; so do all targets that do not say otherwise.
.DEFAULT_GOAL := help
GO ?= go
BIN := bin/muster
MODULE := github.com/muster-scale/muster
# PURE packages compute for long and start no goroutine but one for each world or run: the race detector would find
# nothing there and take three times as long. Every program under the detector sleeps a second before it ends, unless told
# otherwise, and tests start hundreds.
PURE := ./policy ./policy/planning ./policy/internal/durations ./policy/peer ./series ./metricmath ./metricmath/language ./awsrules/alarm ./awsrules/tracking ./awsrules/stepscaling ./sim ./sim/world ./sim/scoring ./sim/queueing ./sim/internal/kernel ./sim/limit ./sim/limit/uninformed ./sim/trace ./sim/trace/internal/chance ./sim/trace/statistics ./sim/worlds ./sim/report ./sim/cloud ./sim/cloud/groups ./sim/contest ./internal/arch
# RACE turns the race detector on, but not inside SQLite, which is C turned into Go: each connection is used by one
# goroutine at a time, and database/sql, which sees to that, is watched. Tests of the history and the queue then take less than half the time.
RACE := -race -gcflags=modernc.org/libc=-race=false -gcflags=modernc.org/sqlite/lib=-race=false
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
CUTS ?= 100000
HISTORIES ?= 10000
RACES ?= 1000000
SEEDS ?= 20000
WORLDS ?= 200

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/muster
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/muster

demo: build ## see the main job done on this machine, in under a minute
	@$(BIN) demo

test: ## run every test that needs only Go; with the race detector where anything runs side by side
	$(GO) vet ./...
	$(GO) vet -C tools ./...
	$(GO) test -vet=off $(PURE) ./controller # which leaves out, under the detector, what only computes
	$(GO) test -C tools -vet=off ./...
	CGO_ENABLED=1 GORACE="atexit_sleep_ms=10 $$GORACE" $(GO) test -vet=off $(RACE) $$($(GO) list ./... | grep -vxF "$$(printf '%s\n' $(PURE:./%=$(MODULE)/%))")

fuzz: ## try each fuzz target for some seconds (FUZZTIME=10s)
	@scripts/fuzz $(or $(FUZZTIME),10s)

powercuts: ## cut the power 100000 times under the queue, 10000 times under the history (CUTS=100000); minutes
	MUSTER_POWERCUTS=$(CUTS) $(GO) test -count=1 -timeout 20m -v -run 'PowerCutLoses' ./queue
	MUSTER_POWERCUTS=$$(($(CUTS) / 10)) $(GO) test -count=1 -timeout 20m -v -run 'PowerCutLoses' ./history

races: ## race 1000000 assignments of messages against releases of their workers (RACES=1000000); minutes
	GOGC=400 MUSTER_RACES=$(RACES) $(GO) test -count=1 -timeout 30m -v -run 'NoRaceEndsABusyWorker|PlantedRules' ./roster

proofs: powercuts races ## all long proofs: also 10000 histories of calls at once (HISTORIES=10000), a tree of a million nodes, 20000 simulated worlds with all faults (SEEDS=20000), 200 worlds drawn at random (WORLDS=200), kills, a full disk; needs Linux, root and strace
	MUSTER_HISTORIES=$(HISTORIES) $(GO) test -count=1 -timeout 20m -v -run 'KeepTheContract' ./queue
	MUSTER_TREE_NODES=1000000 $(GO) test -count=1 -timeout 20m -v -run 'MillionNodes' ./tree
	MUSTER_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 20m -v -run 'AnyWorld' ./sim
	MUSTER_WORLDS=$(WORLDS) $(GO) test -count=1 -timeout 60m -v -run 'DrawnWorlds' ./sim/worlds
	MUSTER_SLOW=1 $(GO) test -count=1 -timeout 20m -v ./internal/realcrash

cross: ## build for linux and darwin on amd64 and arm64
	@for platform in $(PLATFORMS); do \
		echo "build $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build -trimpath $(CROSSFLAGS) -o /dev/null ./cmd/muster || exit 1; \
	done

interop: ## run SQS clients of other people against the embedded queue; needs Python, Node and their registries
	@interop/run

bench: build ## measure the speed goals beside their peers, into docs/benchmarks.md; installs redis-server on Debian, SimPy from PyPI (BENCH_FULL=1, BENCH="-only sim")
	@$(GO) build -C tools -o ../bin/bench ./bench
	@bin/bench -muster $(BIN) $(if $(BENCH_FULL),-full) $(BENCH)

bench-math: ## evaluate a formula beside the Prometheus query language; fetches its many modules first
	@$(GO) run -C tools/bench/promql -mod=mod .

score: ## measure decisions against the goals, into docs/quality.md and docs/benchmarks.md; hours the first time, then what baselines did is kept (SCORE="-only a,c -traces DIR")
	@mkdir -p bin
	@$(GO) build -C tools -o ../bin/score ./score
	@bin/score $(SCORE)

validate: build ## compare the simulator with reality: the demo and a steady run, for real and simulated; five minutes
	@$(BIN) validate

fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

tidy: ## bring the go.mod of the product and of its tools up to what they import
	$(GO) mod tidy
	cd tools && $(GO) mod tidy

.PHONY: help build demo test fuzz powercuts races proofs cross interop bench bench-math score validate fmt tidy
