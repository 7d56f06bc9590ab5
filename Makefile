# make help lists the targets. They need only Go, unless their description says more.
.DEFAULT_GOAL := help
GO ?= go
BIN := bin/muster
MODULE := github.com/muster-scale/muster
# PURE packages compute for a long time and start no goroutines, except one for each world or run. The race detector
# would find nothing there and take three times as long, so make test runs them without it. internal/endtoend is among
# them for another reason: hours of simulated timers in bubbles of testing/synctest now and then crash the detector of
# Go 1.26 itself. What it drives is tested under the detector in its own packages. The two that take longest come first.
PURE := ./sim ./sim/worlds ./advice ./app/advise ./app/playground ./app/replay ./app/simulation ./config/edit ./config/settings ./sim/variants ./event ./guard ./leader ./override ./policy/instructed ./awsrules/counts ./awsrules/spot ./awsrules/warmpool ./sim/trace/recorded ./policy ./policy/planning ./policy/internal/congestion ./policy/internal/durations ./policy/internal/quiet ./policy/internal/race ./policy/internal/renewal ./policy/internal/risk ./policy/internal/room ./policy/internal/scarcity ./policy/internal/silent ./policy/internal/saturation ./policy/internal/lateness ./policy/peer ./series ./metricmath ./metricmath/language ./awsrules/alarm ./awsrules/tracking ./awsrules/stepscaling ./sim/world ./sim/scoring ./sim/queueing ./sim/internal/kernel ./sim/limit ./sim/limit/uninformed ./sim/trace ./sim/trace/internal/chance ./sim/trace/statistics ./sim/report ./sim/cloud ./sim/cloud/groups ./sim/contest ./internal/arch ./internal/endtoend
# RACE turns the race detector on, except inside SQLite, which is C translated to Go. Only one goroutine at a time uses
# a connection; database/sql ensures that, and is checked. Tests of the history and the queue then take less than half the
# time. A program under the detector sleeps for a second before it ends; make test sets 10 ms (GORACE), because tests
# start hundreds of programs. These tests mostly wait for the programs, so six of a package run at a time.
RACE := -race -gcflags=modernc.org/libc=-race=false -gcflags=modernc.org/sqlite/lib=-race=false
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
CUTS ?= 100000
HISTORIES ?= 10000
RACES ?= 1000000
SEEDS ?= 20000
WORLDS ?= 200
WORLD_MESSAGES ?= 100000
NODES ?= 1000000

# PAGES is the dashboard as the program embeds it. It is built again when its sources changed.
PAGES := server/page/bundle/index.html.gz
UI := $(shell find ui/src ui/build.mjs ui/package-lock.json ui/tsconfig.json -type f)

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(PAGES) ## build bin/muster, with the dashboard where npm is present
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/muster

demo: build ## watch Muster size workers for two test loads on this machine, in under a minute
	@$(BIN) demo

$(PAGES): $(UI)
	@scripts/ui --optional

ui: ## check and bundle the dashboard, and run its unit tests; needs npm and its registry
	@scripts/ui
	@cd ui && npm test --silent

playground: ## build the simulator for a browser into dist/playground: static files; needs npm and its registry
	@scripts/playground

test: ## run every test that needs only Go, with the race detector where goroutines run
	$(GO) vet ./...
	$(GO) vet -C tools ./...
	$(GO) test -vet=off $(PURE) ./controller # under the detector, controller skips tests that only compute
	$(GO) test -vet=off -run '^TestComputingScripts$$' ./cmd/muster
	$(GO) test -C tools -vet=off ./...
	CGO_ENABLED=1 GORACE="atexit_sleep_ms=10 $$GORACE" $(GO) test -vet=off -timeout 20m -parallel 6 $(RACE) $$($(GO) list ./... | grep -vxF "$$(printf '%s\n' $(PURE:./%=$(MODULE)/%))")

fuzz: ## run each fuzz target for some seconds (FUZZTIME=10s)
	@scripts/fuzz $(or $(FUZZTIME),10s)

powercuts: ## simulate 100000 power cuts under the queue and 10000 under the history (CUTS=100000); takes minutes
	MUSTER_POWERCUTS=$(CUTS) $(GO) test -count=1 -timeout 20m -v -run 'PowerCutLoses' ./queue
	MUSTER_POWERCUTS=$$(($(CUTS) / 10)) $(GO) test -count=1 -timeout 20m -v -run 'PowerCutLoses' ./history

races: ## race 1000000 message assignments against releases of their workers (RACES=1000000); takes minutes
	GOGC=400 MUSTER_RACES=$(RACES) $(GO) test -count=1 -timeout 30m -v -run 'NoRaceEndsABusyWorker|PlantedRules' ./roster

proofs: powercuts races ## run all long proofs: also 10000 histories of concurrent calls (HISTORIES=10000), a tree of a million nodes (NODES=1000000), 20000 simulated worlds with all faults, and as many of several controllers (SEEDS=20000), 200 worlds drawn at random (WORLDS=200), of up to 100000 messages each (WORLD_MESSAGES=100000), kills, a full disk; needs Linux, root and strace
	MUSTER_HISTORIES=$(HISTORIES) $(GO) test -count=1 -timeout 20m -v -run 'KeepTheContract' ./queue
	MUSTER_TREE_NODES=$(NODES) $(GO) test -count=1 -timeout 20m -v -run 'MillionNodes' ./tree
	MUSTER_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 20m -v -run 'AnyWorld' ./sim
	MUSTER_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 20m -v -run 'NoFault|Follows|Spread' ./leader
	GOGC=400 MUSTER_WORLDS=$(WORLDS) MUSTER_WORLD_MESSAGES=$(WORLD_MESSAGES) $(GO) test -count=1 -timeout 60m -v -run 'DrawnWorlds' ./sim/worlds
	MUSTER_SLOW=1 $(GO) test -count=1 -timeout 20m -v ./internal/realcrash

cross: ## build for linux and darwin on amd64 and arm64
	@for platform in $(PLATFORMS); do \
		echo "build $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build -trimpath $(CROSSFLAGS) -o /dev/null ./cmd/muster || exit 1; \
	done

release: ## build archives, packages, image, bills of materials and checksums of the last commit for all platforms, into dist/
	@$(GO) build -C tools -o ../bin/release ./release
	@bin/release -out dist

release-test: ## build the last commit for this machine twice, compare, and install and use the results; needs Linux, and root for a part
	MUSTER_RELEASE=1 $(GO) test -C tools -count=1 -v -run OnThisMachine ./release

interop: ## run third-party SQS clients against the embedded queue, and the dashboard in a browser; needs Python, Node, their registries and Chromium
	@interop/run

bench: build ## measure the speed goals next to other programs, into docs/benchmarks.md; installs redis-server on Debian and SimPy from PyPI (BENCH_FULL=1, BENCH="-only sim")
	@$(GO) build -C tools -o ../bin/bench ./bench
	@bin/bench -muster $(BIN) $(if $(BENCH_FULL),-full) $(BENCH)

bench-math: ## compare metric math with the Prometheus query language; downloads its many modules first
	@$(GO) run -C tools/bench/promql -mod=mod .

score: ## measure decisions against the goals, into docs/quality.md and docs/benchmarks.md; takes hours the first time, later runs reuse the results of baselines (SCORE="-only a,c -traces DIR")
	@mkdir -p bin
	@$(GO) build -C tools -o ../bin/score ./score
	@bin/score $(SCORE)

validate: build ## compare the simulator with reality: the demo and a steady run, real and simulated; takes five minutes
	@$(BIN) validate

fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

tidy: ## update go.mod of the product and of its tools to their imports
	$(GO) mod tidy
	cd tools && $(GO) mod tidy

.PHONY: help build demo ui playground test fuzz powercuts races proofs cross interop bench release release-test bench-math score validate fmt tidy
