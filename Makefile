# Everything that is done to this repository by hand or by a machine.
# `make help` lists the targets.

# Versions of what the system does not bring along. Go's own is in go.mod.
OTP_ROOTS = trixie sid

GO       ?= go
# Go fetches the release that go.mod names, also where a system says otherwise.
export GOTOOLCHAIN ?= auto
BIN      := bin/nxvk-node
CROSS    := freebsd/amd64 darwin/arm64 windows/amd64 linux/arm64
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null)

.DEFAULT_GOAL := build
.PHONY: build demo test test-full check bench generate shaders help

build: ## the node, as bin/nxvk-node
	$(GO) build -ldflags "-X nxvk/gen/server.version=$(VERSION)" -o $(BIN) ./cmd/nxvk-node

demo: ## install what is missing, build, and run a real program on the best device
	test/setup.sh run
	$(MAKE) build
	test/demo.sh

test: ## install what is missing and run every test; ends with the counts
	test/setup.sh test
	@OTP_ROOTS="$(OTP_ROOTS)" test/all.sh | $(GO) run ./test/count

test-full: export TEST_FULL = 1
test-full: test ## and every type and shape on devices, and Nx's own suites from NX_PATH

check: ## generated files, format, vet, cross-builds; fails where the tree changes
	$(MAKE) generate
	@files=$$(git ls-files '*.go' | xargs gofmt -l); test -z "$$files" || { echo "gofmt: $$files"; exit 1; }
	$(GO) vet ./...
	@for target in $(CROSS); do \
		echo "build $$target"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -o /dev/null ./cmd/nxvk-node || exit 1; \
	done
	git diff --exit-code

bench: build ## the numbers of the wire and of the operations, with their yardsticks
	$(BIN) bench wire
	$(BIN) bench ops

generate: ## files made from the op table
	$(GO) run ./ops/opgen

shaders: ## SPIR-V of the hand-written kernels; needs glslangValidator
	$(GO) generate ./shaders ./vulkan

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 11
