# The commands of this project. "make demo" and "make test" need Go and git,
# and on a Debian machine bring the rest themselves (.ci/packages).

GO     ?= go
export CGO_ENABLED = 0
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
TOOL    = $(GO) tool -modfile=tools/go.mod

.PHONY: build demo test check lint vuln race fuzz walls-old golden bench cover clean

build: ## bin/fumehood
	$(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/fumehood ./cmd/fumehood

demo: build ## the main job, end to end, on a throw-away repository
	./bin/fumehood demo

test: ## every test, as an ordinary user and as root where there is one
	.ci/test

check: lint vuln ## the linters alone

lint:
	$(GO) vet ./...
	@out=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofumpt wants:"; echo "$$out"; exit 1; }
	$(TOOL) golangci-lint run ./...

vuln:
	.ci/vuln

race: ## the packages with goroutines, under the race detector (needs a C compiler)
	@command -v gcc >/dev/null || { echo "SKIPPED: the race detector needs a C compiler, and there is no gcc"; exit 0; }; \
	CGO_ENABLED=1 $(GO) test -race -p 1 ./session/term ./session/wire ./session/store ./ui/... ./diffreview ./diffreview/linediff ./diffreview/merge ./diffreview/risk

fuzz: ## what decides on and parses what comes through the proxy; FUZZ=10 for ten times as many inputs
	.ci/fuzz

walls-old: ## an old kernel in a virtual machine: starts, walls, what its Landlock lacks
	.ci/walls-old

golden: ## rewrite the golden screens; look at the diff
	$(GO) test ./ui/... -update

bench: ## the budgets, as ratios in one run
	.ci/bench

cover:
	$(GO) test -coverprofile=cover.out ./... && $(GO) tool cover -func=cover.out | tail -1

clean:
	rm -rf bin dist cover.out
