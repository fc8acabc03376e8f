# The targets are in GNUmakefile. This file is what make of a BSD reads: it hands them
# on to GNU make, with the variables of the command line.

GMAKE   ?= gmake
# Those of GNUmakefile; test/makefile_test.go compares them.
TARGETS  = build demo test test-full check release release-check bench digest fuzz setup generate shaders help

$(TARGETS):
	@command -v $(GMAKE) >/dev/null 2>&1 || { echo "make: this needs GNU make (FreeBSD: pkg install gmake), as gmake or what GMAKE says" >&2; exit 1; }
	@MAKEFLAGS= $(GMAKE) --no-print-directory ${.MAKEOVERRIDES:@v@${v}=${${v}:Q}@} ${.TARGET}

.MAIN: build
.PHONY: $(TARGETS)
