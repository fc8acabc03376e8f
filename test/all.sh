#!/bin/sh
# Runs the tests, writes a report in JUnit's XML of each part of them to reports/, and
# ends with the counts. It goes on after a failure, and fails at the end.
#
#   test/all.sh [PART...]   all parts, or those named: vet race devices collections
#                           nocgo matrix cluster elixir; with TEST_FULL also types
#                           others device
#
#   OTP_ROOTS   Debian releases whose Erlang is tried besides the host's
#   NX_PATH     a checkout of Nx, for the Elixir suite
#   TEST_FULL   every type and every class of shapes on devices, and the suites
#               of Nx and of what is built on it, on the host and on a device
#   GOTESTSUM   the runner of Go's tests, a command
set -u
cd "$(dirname "$0")/.." || exit 1
GO=${GO:-go}
GOTESTSUM=${GOTESTSUM:-$GO run gotest.tools/gotestsum@v1.13.0}
reports=reports
# A package's tests may take long on a busy machine; one that hangs still ends.
export GOFLAGS="${GOFLAGS:-} -timeout=40m"

# The race detector covers all that does not talk to a driver: drivers and
# their threads are not built for it. The compiler has no goroutines of its own:
# it is tried where it is called from many, and its long tests, which interpret kernels,
# run without.
device='^nxvk/(vulkan|gen/exec|node/bench|test/.+)(/|$)|^nxvk/synth$'
device="$device|^nxvk/synth/(elementwise|movement|indexing|reduction|windowing|dot|sorting|fft|linalg|leapfrog|fusion)(/|$)"
cluster='^nxvk/test/cluster$'
compiler='^nxvk/(synth/.+|fallback|ops|shaders)(/|$)'

packages() { $GO list ./... | grep -E "$1"; }

# report NAME COMMAND...: a part whose command prints what `go test -json` does. A report
# that the runner did not write counts as a failure at the end.
written=''
report() {
	name=$1
	shift
	written="$written $reports/$name.xml"
	# shellcheck disable=SC2086 # a command with arguments
	$GOTESTSUM --format pkgname-and-test-fails --hide-summary all --no-color --ignore-non-json-output-lines \
		--junitfile "$reports/$name.xml" --raw-command -- "$@"
}

# steps NAME COMMAND...: a part whose command prints outcomes (see outcomes.awk).
steps() {
	name=$1
	shift
	"$@" 2>&1 | awk -f test/outcomes.awk | $GO tool test2json -t -p "nxvk/$name" >"$reports/$name.json"
	report "$name" cat "$reports/$name.json"
	rm -f "$reports/$name.json"
}

# step NAME COMMAND...: one outcome for a command that counts nothing itself.
step() {
	name=$1
	shift
	if "$@" 2>&1; then
		echo "::pass $name"
	else
		echo "::fail $name"
	fi
}

# at_once: as many processes as there are processors, and memory for: a driver keeps
# some gigabytes of what it has compiled.
at_once() {
	awk -v cores="$(nproc)" '/^MemAvailable/ { n = int($2 / 4e6); print (n < 1 ? 1 : n > cores ? cores : n) }' /proc/meminfo
}

formatted() {
	unformatted=$(git ls-files '*.go' | xargs gofmt -l) && [ -z "$unformatted" ] && return
	echo "$unformatted"
	return 1
}

part_vet() {
	steps vet vetted
}
vetted() {
	step vet "$GO" vet ./...
	step gofmt formatted
}

part_race() {
	# shellcheck disable=SC2046
	report race "$GO" test -json -race $($GO list ./... | grep -Ev "$device|$compiler")
	# shellcheck disable=SC2046
	report race-compiler "$GO" test -json -race -short $(packages "$compiler" | grep -Ev "$device")
	report race-concurrent "$GO" test -json -race -run Concurrent ./synth
}

part_devices() {
	# shellcheck disable=SC2046
	report devices "$GO" test -json $(packages "$device" | grep -v "$cluster")
}

# Devices and messages with a collection at every allocation.
part_collections() {
	# shellcheck disable=SC2046
	report collections env GOGC=1 "$GO" test -json -short $(packages '^nxvk/(vulkan|gen)(/|$)')
}

# Without cgo: everything on the host, Vulkan itself, also with a collection at every
# allocation, and programs and operations on devices. Without Vulkan it still builds.
part_nocgo() {
	steps nocgo-build step "build without cgo and without Vulkan" \
		env CGO_ENABLED=0 "$GO" build -tags novulkan -o /dev/null ./cmd/nxvk-node
	report nocgo env CGO_ENABLED=0 "$GO" test -json -short -skip '^TestDevice|/^(device|addresses)$' \
		./ops/... ./synth/... ./fallback/... ./gen/...
	report nocgo-vulkan env CGO_ENABLED=0 "$GO" test -json ./vulkan/...
	report nocgo-collections env CGO_ENABLED=0 GOGC=1 "$GO" test -json -short ./vulkan/...
	report nocgo-devices env CGO_ENABLED=0 "$GO" test -json -short ./gen/exec/... ./test/conformance
}

# find_roots: the roots of OTP_ROOTS that can be had, once.
roots='' searched=''
find_roots() {
	[ -z "$searched" ] || return 0
	searched=yes missing=''
	for release in ${OTP_ROOTS:-}; do
		if root=$(test/roots.sh "$release"); then
			roots="$roots${roots:+:}$root"
		else
			missing="$missing::skip cluster with the Erlang of Debian $release: $root
"
		fi
	done
	[ -z "$missing" ] || steps roots printf %s "$missing"
}

# Products and convolutions on matrix hardware, by the lavapipe of the last root that has one: the host's may be too
# old. The binary of the tests runs in the root.
part_matrix() {
	find_roots
	driver=/usr/share/vulkan/icd.d/lvp_icd.json
	found=$(echo "$roots" | tr : '\n' | while read -r root; do
		[ ! -e "$root$driver" ] || echo "$root"
	done | tail -n 1)
	if [ -z "$found" ]; then
		steps matrix echo "::skip products on matrix hardware: no root has a lavapipe (apt-get install mesa-vulkan-drivers in it)"
		return
	fi
	work=$(mktemp -d "$found/tmp/nxvk-matrix-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	steps matrix-build step "build the tests of products" "$GO" test -c -o "$work/" ./test/gemm ./test/conformance
	report matrix "$GO" tool test2json -t -p nxvk/test/gemm chroot "$found" env VK_DRIVER_FILES="$driver" NXVK_VALIDATION=0 \
		"/tmp/${work##*/}/gemm.test" -test.v=test2json -test.run '^TestMatrixHardware$'
	report matrix-operations "$GO" tool test2json -t -p nxvk/test/conformance chroot "$found" env VK_DRIVER_FILES="$driver" NXVK_VALIDATION=0 \
		"/tmp/${work##*/}/conformance.test" -test.v=test2json -test.run '^Test(ConvNarrow|DrawnDots|DrawnEpilogues|Attention|Gradients)$/^matrix_hardware'
	rm -rf "$work"
}

# What the tests of clusters depend on, go test does not see.
part_cluster() {
	find_roots
	report cluster env NXVK_ERL_ROOTS="$roots" "$GO" test -json -count=1 ./test/cluster
}

part_elixir() {
	find_roots
	steps elixir env JUNIT_FILE="$PWD/$reports/exunit.xml" test/elixir.sh "$roots"
}

# Every type and shape, each test in a process of its own, several at once.
part_types() {
	bin=$(mktemp -d)
	trap 'rm -rf "$bin"' EXIT
	steps types-build step "build the conformance tests" "$GO" test -c -o "$bin/conformance" ./test/conformance
	tests=$(cd test/conformance && "$bin/conformance" -test.list '^Test' | grep '^Test')
	# shellcheck disable=SC2016 # for the inner shell
	echo "$tests" | GO="$GO" xargs -P "$(at_once)" -I NAME sh -c 'cd test/conformance &&
		"$GO" tool test2json -t -p nxvk/test/conformance "$1/conformance" -test.v=test2json -test.run "^NAME\$" \
			-test.timeout 2h -full >"$1/NAME"' sh "$bin"
	steps types-outcomes each_left "$bin" "$tests"
	(for name in $tests; do cat "$bin/$name"; done) >"$reports/types.json"
	report types cat "$reports/types.json"
	rm -f "$reports/types.json"
}
# each_left FOLDER TESTS: every test has left events.
each_left() {
	[ -n "$2" ] || echo "::fail list the conformance tests"
	for name in $2; do
		[ -s "$1/$name" ] || echo "::fail conformance $name: no outcome"
	done
	echo "::pass conformance tests have run"
}

part_others() {
	find_roots
	steps others test/elixir.sh "$roots" others
}

# Elixir and the suites of others on a device, whatever the size.
part_device() {
	find_roots
	steps device-own env JUNIT_FILE="$PWD/$reports/exunit-device.xml" test/elixir.sh "$roots" own device
	steps device-others test/elixir.sh "$roots" others device
}

[ $# -gt 0 ] || set -- vet race devices collections nocgo matrix cluster elixir ${TEST_FULL:+types others device}
rm -rf "$reports"
mkdir -p "$reports"
for part in "$@"; do
	case $part in
	vet | race | devices | collections | nocgo | matrix | cluster | elixir | types | others | device) ;;
	*)
		echo "all.sh: there is no part $part" >&2
		exit 2
		;;
	esac
done
for part in "$@"; do
	echo "== $part"
	"part_$part"
done
for suite in "$reports"/exunit*.xml; do
	[ ! -e "$suite" ] || written="$written $suite"
done
# shellcheck disable=SC2086 # a list
exec "$GO" run ./test/report $written
