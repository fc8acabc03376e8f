#!/bin/sh
# Looks at the tree without running it: generated files, format, vet, linters, modules,
# cross-builds, scripts, C, workflows, Elixir. It goes on after a finding, skips with a
# reason what this machine has no tool for, and fails at the end.
#
#   test/check.sh [STEP...]   all steps, or those named: generated gofmt vet staticcheck
#                             modules cross shell c workflows elixir
#
#   STATICCHECK, ACTIONLINT   these tools, as `go run` takes them
#   CROSS                     systems to build for, such as freebsd/amd64
#   OTP_ROOTS                 Debian releases whose Elixir serves where this machine has
#                             none, if their roots are there (test/roots.sh)
set -u
cd "$(dirname "$0")/.." || exit 1
GO=${GO:-go}

failed=''
# step NAME COMMAND...: what the command prints is shown where it fails. A command that
# ends with 75 is skipped; its last line says why.
step() {
	name=$1
	shift
	output=$("$@" 2>&1)
	case $? in
	0)
		echo "ok   $name"
		printf '%s\n' "$output" | sed -n 's/^::skip /skip /p'
		;;
	75) echo "skip $name: $(printf '%s\n' "$output" | tail -n 1)" ;;
	*)
		printf 'FAIL %s\n%s\n' "$name" "$output"
		failed="$failed $name"
		;;
	esac
}
# want COMMAND PACKAGE: skips the step where the command is not there.
want() {
	command -v "$1" >/dev/null && return
	echo "$1 is not installed (Debian: apt-get install $2)"
	exit 75
}

# Files that are generated from the table of operations are up to date. A change that is
# not committed yet stays as it is.
check_generated() {
	before=$(git diff)
	$GO run ./ops/opgen || return 1
	[ "$before" = "$(git diff)" ] && return
	echo "make generate changes files; commit what it writes"
	git diff --stat
	return 1
}

check_gofmt() {
	files=$(git ls-files '*.go' | xargs ls 2>/dev/null | xargs gofmt -l) || return 1
	[ -z "$files" ] && return
	printf 'run gofmt -w on\n%s\n' "$files"
	return 1
}

check_vet() { $GO vet ./...; }

# By staticcheck.conf.
check_staticcheck() { $GO run "${STATICCHECK:?}" ./...; }

check_modules() { $GO mod tidy -diff && $GO mod verify; }

check_cross() {
	for target in ${CROSS:?}; do
		echo "$target"
		# shellcheck disable=SC2046 # a list
		CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} $GO build $(test/goflags.sh "${target%/*}") \
			-o /dev/null ./cmd/nxvk-node || return 1
	done
	echo "linux/amd64 without Vulkan"
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 $GO build -tags novulkan -o /dev/null ./cmd/nxvk-node
}

check_shell() {
	want shellcheck shellcheck
	git ls-files '*.sh' .ci/run 'packaging/debian/p*' packaging/freebsd/nxvk_node | xargs shellcheck
}

# By .clang-format. The shaders are GLSL, which clang-format does not know.
check_c() {
	want clang-format clang-format
	git ls-files 'vulkan/vk/*.[ch]' | xargs clang-format --dry-run --Werror
}

check_workflows() {
	$GO run "${ACTIONLINT:?}" || return 1
	want yamllint yamllint
	git ls-files '*.yml' '*.yaml' .clang-format .yamllint | xargs yamllint --strict
}

check_elixir() {
	roots=''
	for release in ${OTP_ROOTS:-}; do
		root=$(test/roots.sh "$release" present) && roots="$roots${roots:+:}$root"
	done
	output=$(test/elixir.sh "$roots" lint)
	printf '%s\n' "$output"
	case $output in
	*::fail*) return 1 ;;
	*::pass*) return 0 ;;
	esac
	exit 75
}

[ $# -gt 0 ] || set -- generated gofmt vet staticcheck modules cross shell c workflows elixir
for name in "$@"; do
	step "$name" "check_$name"
done
[ -z "$failed" ] || {
	echo "make check:$failed" >&2
	exit 1
}
