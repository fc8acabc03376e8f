#!/bin/sh
# Compares the digests of the working tree with those of a commit, and fails where those
# of a program differ.
#
#   test/digest.sh COMMIT [FLAG...]   the flags are those of test/digest
#
# The commit is checked out beside this tree with the programs of this one, and with
# the examples of operations that these draw (ops/example). A commit with a test/digest
# keeps its own plan.go, results.go, device.go and gpu.go, because these name the packages
# under test, and names may have changed in between.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
commit=$(git rev-parse --verify --quiet "${1:?usage: test/digest.sh COMMIT [FLAG...]}^{commit}") ||
	{ echo "digest: there is no commit $1" >&2; exit 1; }
shift

dir=$(mktemp -d)
end() { git worktree remove --force "$dir/base" >/dev/null 2>&1 || :; rm -rf "$dir"; }
trap end EXIT
trap 'exit 1' INT TERM

git worktree add --quiet --detach "$dir/base" "$commit"
mkdir -p "$dir/own" "$dir/base/test/digest"
for file in plan.go results.go device.go gpu.go; do
	[ ! -e "$dir/base/test/digest/$file" ] || cp "$dir/base/test/digest/$file" "$dir/own/"
done
rm -rf "$dir/base/test/digest" "$dir/base/test/draw" "$dir/base/ops/example"
cp -r test/digest test/draw "$dir/base/test/"
cp -r ops/example "$dir/base/ops/"
cp "$dir/own"/* "$dir/base/test/digest/" 2>/dev/null || :

$GO build -trimpath -o "$dir/digest-here" ./test/digest
(cd "$dir/base" && $GO build -trimpath -o "$dir/digest-base" ./test/digest)
"$dir/digest-base" "$@" >"$dir/base.txt"
"$dir/digest-here" "$@" >"$dir/here.txt"
"$dir/digest-here" -compare "$dir/base.txt" "$dir/here.txt"
