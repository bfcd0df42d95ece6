# make test is the one gate. Everything else serves a person at work.

GO ?= go

.PHONY: run test quick deps format vet lint tidy unit voyage fuzz bench bench-load stress soak vuln

run: ## the order-detail study, shortened
	$(GO) run ./cmd/loadline run scenarios/order-detail.yaml --quick

test: deps format tidy vet lint unit fuzz voyage ## the gate

quick: format vet ## a minute's check while working
	$(GO) test -short ./...

deps: ## install what the tests need from Debian's packages, or say what is missing
	@./tools/install-deps.sh

format:
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

tidy:
	$(GO) mod tidy -diff

vet:
	$(GO) vet ./...
	cd bench && $(GO) vet ./...

lint:
	$(GO) build -modfile=tools/go.mod -o bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...

unit:
	$(GO) test -race -shuffle=on -timeout 20m $$($(GO) list ./... | grep -v /cmd/loadline)
	LOADLINE_STRESS_SUBMITS=1000000 $(GO) test -count=1 -run=TestStress ./pool

voyage: ## the whole program on real processes, with the machine to itself: the studies' physics, faults, interrupts and kills
	$(GO) test -count=1 -timeout 30m ./cmd/loadline

fuzz:
	./tools/fuzz-smoke.sh

bench: ## the isolation library beside its peers, in one run
	cd bench && $(GO) test -run='^$$' -bench=. -benchmem -count=6 ./isolation

bench-load: ## the load engine beside other generators, in one interleaved run
	cd bench && $(GO) run ./load

stress: ## 10^8 submits, 10^7 of them under the race detector
	LOADLINE_STRESS_SUBMITS=100000000 $(GO) test -run=TestStress -timeout 60m ./pool
	LOADLINE_STRESS_SUBMITS=10000000 $(GO) test -race -run=TestStress -timeout 60m ./pool

soak: ## the load engine at full rate for ten minutes: its memory must stay flat
	cd bench && $(GO) run ./load -soak 10m -target echo

vuln: ## known vulnerabilities in what is imported
	$(GO) build -modfile=tools/go.mod -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	bin/govulncheck ./...
