#!/bin/sh
# Runs the tests, writes a report in JUnit's XML of each part of them to reports/, and
# ends with the counts. It goes on after a failure, and fails at the end.
#
#   test/all.sh [PART...]   all parts, or those named: vet compiler race devices
#                           collections nocgo matrix cluster elixir; with TEST_FULL
#                           also types others device
#
# Without TEST_FULL Go's tests run with -short: a test that draws cases draws fewer, and
# the few that do not run say so. With it every test runs whole.
#
#   OTP_ROOTS   Debian releases whose Erlang is tried besides the host's
#   NX_PATH     a checkout of Nx, for the Elixir suite
#   TEST_FULL   every test whole, also without cgo; every type and every class of shapes
#               on devices, and the suites of Nx and of what is built on it, on the host
#               and on a device
#   GOTESTSUM   the runner of Go's tests, a command
set -u
cd "$(dirname "$0")/.." || exit 1
GO=${GO:-go}
GOTESTSUM=${GOTESTSUM:-$GO run gotest.tools/gotestsum@v1.13.0}
reports=reports
# A package's tests may take long on a busy machine; one that hangs still ends.
export GOFLAGS="${GOFLAGS:-} -timeout=40m"

# short is the flag of Go's tests without TEST_FULL.
short=-short
[ -z "${TEST_FULL:-}" ] || short=

# The packages that talk to a driver: the race detector is not for drivers and their
# threads.
device='^nxvk/(vulkan|gen/exec|node/bench|test/.+)(/|$)'
cluster='^nxvk/test/cluster$'
# The packages without goroutines of their own, where the race detector sees nothing. Those
# that goroutines share are raced apart, see part_race. Whether the invocations of a kernel
# race with each other, the interpreter of kernels tells in every test (synth/kernel/kerneltest).
# None reaches a driver or cgo. test/race_test.go holds this.
single='^nxvk/((ops|synth|fallback|shaders|packaging)(/.+)?|gen/nuts|test)$'

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

part_compiler() {
	# shellcheck disable=SC2046,SC2086 # lists; no flag
	report compiler "$GO" test -json $short $(packages "$single")
}

# What has goroutines, what hands work to them, and the compiler where many call it.
part_race() {
	# shellcheck disable=SC2046,SC2086
	report race "$GO" test -json -race $short $($GO list ./... | grep -Ev "$device|$single") \
		./fallback/sched ./synth/simt ./synth/gemm
	# shellcheck disable=SC2086
	report race-concurrent "$GO" test -json -race $short -run '^Test(Concurrent|Worker)' ./synth ./fallback ./test/digest
}

part_devices() {
	# shellcheck disable=SC2046,SC2086
	report devices "$GO" test -json $short $(packages "$device" | grep -v "$cluster")
}

# pressed is what tests with a collection at every allocation take: all but the 220,000 rounds of TestFlatMemory, which
# -short leaves out itself.
pressed=${short:--skip=^TestFlatMemory\$}

# Devices and messages with a collection at every allocation. The sampler's chains have no memory
# but Go's.
part_collections() {
	# shellcheck disable=SC2046,SC2086
	report collections env GOGC=1 "$GO" test -json $pressed $(packages '^nxvk/(vulkan|gen)(/|$)' | grep -v '^nxvk/gen/nuts$')
}

# Without cgo purego calls Vulkan, and nothing else is different: Vulkan itself, with a collection at
# every allocation, what sessions do on a device, and random programs. With TEST_FULL also the rest: what computes
# on the host, Vulkan with few collections, and every operation on a device. Without Vulkan it still builds.
part_nocgo() {
	steps nocgo-build nocgo_built
	# shellcheck disable=SC2086
	report nocgo-collections env CGO_ENABLED=0 GOGC=1 "$GO" test -json $pressed ./vulkan/...
	if [ -n "$short" ]; then
		report nocgo-devices env CGO_ENABLED=0 "$GO" test -json -short -run "$on_device" ./gen/exec/...
		report nocgo-programs env CGO_ENABLED=0 "$GO" test -json -short -run '^TestPrograms$' ./test/conformance
		return
	fi
	report nocgo env CGO_ENABLED=0 "$GO" test -json -skip "$on_device" ./ops/... ./synth/... ./fallback/... ./gen/...
	report nocgo-vulkan env CGO_ENABLED=0 "$GO" test -json ./vulkan/...
	report nocgo-devices env CGO_ENABLED=0 "$GO" test -json ./gen/exec/... ./test/conformance
}
# on_device are the tests and subtests that have a device to themselves.
on_device='^TestDevice|/^(device|addresses)$'
nocgo_built() {
	step "build without cgo and without Vulkan" env CGO_ENABLED=0 "$GO" build -tags novulkan -o /dev/null ./cmd/nxvk-node
	step "vet without cgo" env CGO_ENABLED=0 "$GO" vet ./...
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
# old. Functions of few integers as well, since that driver's compiler is newer. The binary of the tests runs in the root.
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
		"/tmp/${work##*/}/gemm.test" -test.v=test2json ${short:+-test.short} -test.run '^TestMatrixHardware$'
	report matrix-operations "$GO" tool test2json -t -p nxvk/test/conformance chroot "$found" env VK_DRIVER_FILES="$driver" NXVK_VALIDATION=0 \
		"/tmp/${work##*/}/conformance.test" -test.v=test2json ${short:+-test.short} -test.run '^Test(ConvNarrow|DrawnDots|DrawnEpilogues|Attention|Gradients)$/^matrix_hardware'
	report matrix-few "$GO" tool test2json -t -p nxvk/test/conformance chroot "$found" env VK_DRIVER_FILES="$driver" NXVK_VALIDATION=0 \
		"/tmp/${work##*/}/conformance.test" -test.v=test2json ${short:+-test.short} -test.run '^TestFewIntegers$'
	rm -rf "$work"
}

# What the tests of clusters depend on, go test does not see.
part_cluster() {
	find_roots
	# shellcheck disable=SC2086
	report cluster env NXVK_ERL_ROOTS="$roots" "$GO" test -json $short -count=1 ./test/cluster
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

[ $# -gt 0 ] || set -- vet compiler race devices collections nocgo matrix cluster elixir ${TEST_FULL:+types others device}
rm -rf "$reports"
mkdir -p "$reports"
for part in "$@"; do
	case $part in
	vet | compiler | race | devices | collections | nocgo | matrix | cluster | elixir | types | others | device) ;;
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
