# The targets are in GNUmakefile. This file is what make of a BSD reads: it hands them
# on to GNU make, with the variables of the command line.

GMAKE   ?= gmake
TARGETS != sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' GNUmakefile

$(TARGETS):
	@command -v $(GMAKE) >/dev/null 2>&1 || { echo "make: this needs GNU make (FreeBSD: pkg install gmake), as gmake or what GMAKE says" >&2; exit 1; }
	@MAKEFLAGS= $(GMAKE) --no-print-directory ${.MAKEOVERRIDES:@v@${v}=${${v}:Q}@} ${.TARGET}

.MAIN: build
.PHONY: $(TARGETS)
