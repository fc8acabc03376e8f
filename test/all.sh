#!/bin/sh
# Runs every test and prints events that test/count reads. It goes on after a
# failure; the counts tell.
#
#   OTP_ROOTS   Debian releases whose Erlang is tried besides the host's
#   NX_PATH     a checkout of Nx, for the Elixir suite
#   TEST_FULL   every type and every class of shapes on devices, and the suites
#               of Nx and of what is built on it, on the host and on a device
cd "$(dirname "$0")/.."
GO=${GO:-go}
# A package's tests may take long on a busy machine; one that hangs still ends.
export GOFLAGS="${GOFLAGS:-} -timeout=40m"

# step NAME COMMAND...: one outcome for a command that counts nothing itself.
step() {
	name=$1
	shift
	if output=$("$@" 2>&1); then
		echo "::pass $name"
	else
		printf '%s\n' "$output"
		echo "::fail $name"
	fi
}

packages() { $GO list ./... | grep -E "$1"; }

# at_once: as many processes as there are processors, and memory for: a driver keeps
# some gigabytes of what it has compiled.
at_once() {
	awk -v cores="$(nproc)" '/^MemAvailable/ { n = int($2 / 4e6); print (n < 1 ? 1 : n > cores ? cores : n) }' /proc/meminfo
}

# conformance FLAG...: each test in a process of its own, several at once.
conformance() {
	bin=$(mktemp -d)
	trap 'rm -rf "$bin"' EXIT
	$GO test -c -o "$bin/conformance" ./test/conformance || { echo "::fail build the conformance tests" && return; }
	tests=$(cd test/conformance && "$bin/conformance" -test.list '^Test' | grep '^Test') || echo "::fail list the conformance tests"
	printf '%s\n' $tests | GO="$GO" xargs -P "$(at_once)" -I NAME sh -c 'cd test/conformance && bin=$1 && shift &&
		"$GO" tool test2json -t -p nxvk/test/conformance "$bin/conformance" -test.v=test2json -test.run "^NAME\$" "$@" >"$bin/NAME"' \
		sh "$bin" "$@"
	for name in $tests; do
		test -s "$bin/$name" && cat "$bin/$name" || echo "::fail conformance $name: no outcome"
	done
}

formatted() { unformatted=$(git ls-files '*.go' | xargs gofmt -l) && test -z "$unformatted" || { echo "$unformatted" && false; }; }

echo "== vet and format"
step vet $GO vet ./...
step gofmt formatted

# The race detector covers all that does not talk to a driver: drivers and
# their threads are not built for it. The compiler has no goroutines of its own:
# it is tried where it is called from many, and its long tests run without.
device='^nxvk/(vulkan|gen/exec|node/bench|test/.+)(/|$)|^nxvk/synth$'
cluster='^nxvk/test/cluster$'
compiler='^nxvk/(synth/.+|fallback|ops|shaders)(/|$)'
echo "== race detector"
# shellcheck disable=SC2046
$GO test -json -race $($GO list ./... | grep -Ev "$device|$compiler")
# shellcheck disable=SC2046
$GO test -json -race -short $(packages "$compiler")
$GO test -json -race -run Concurrent ./synth

echo "== devices"
# shellcheck disable=SC2046
$GO test -json $(packages "$device" | grep -v "$cluster")

echo "== devices and messages with a collection at every allocation"
# shellcheck disable=SC2046
GOGC=1 $GO test -json -short $(packages '^nxvk/(vulkan|gen)(/|$)')

echo "== without cgo"
step "build without cgo" env CGO_ENABLED=0 $GO build -o /dev/null ./cmd/nxvk-node
CGO_ENABLED=0 $GO test -json -short -skip '^TestDevice|/^(device|addresses)$' ./ops/... ./synth/... ./fallback/... ./gen/...

echo "== cluster"
roots=
for release in ${OTP_ROOTS:-}; do
	if root=$(test/roots.sh "$release"); then
		roots="$roots${roots:+:}$root"
	else
		echo "::skip cluster with the Erlang of Debian $release: $root"
	fi
done
# What these tests depend on, go test does not see.
NXVK_ERL_ROOTS=$roots $GO test -json -count=1 ./test/cluster

echo "== Elixir and Nx"
test/elixir.sh "$roots"

if [ -n "${TEST_FULL:-}" ]; then
	echo "== every type and shape"
	conformance -test.timeout 2h -full
	echo "== suites of others"
	test/elixir.sh "$roots" others
	echo "== Elixir and the suites of others on a device, whatever the size"
	test/elixir.sh "$roots" own device
	test/elixir.sh "$roots" others device
fi
