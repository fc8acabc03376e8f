#!/bin/sh
# Fuzzes every target of the tree for a while each, and fails where one finds something.
# Go then leaves the input in the package's testdata/fuzz, which becomes a test once it
# is committed.
#
#   test/fuzz.sh [TIME]   for each target; 1m where it is not given
set -u
cd "$(dirname "$0")/.." || exit 1
GO=${GO:-go}
time=${1:-1m}

failed=''
for package in $(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do
	targets=$($GO test -list '^Fuzz' "./$package" | grep '^Fuzz') || {
		failed="$failed $package"
		continue
	}
	for target in $targets; do
		echo "== $package $target"
		$GO test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$package" || failed="$failed $package.$target"
	done
done
[ -z "$failed" ] || {
	echo "fuzz:$failed" >&2
	exit 1
}
