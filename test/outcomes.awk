# Turns the outcomes of steps into what `go test -v` prints, for test2json. A line
# `::pass NAME`, `::fail NAME` or `::skip NAME: REASON` ends a step; what came before
# it is the step's output. A slash in a name would make a subtest of it, whose parent
# gotestsum looks for in vain: it becomes a dot.
function run(name) {
	gsub(/ /, "_", name)
	gsub(/\//, ".", name)
	print "=== RUN   " name
	printf "%s", output
	output = ""
	return name
}
/^::pass / { printf "--- PASS: %s (0.00s)\n", run(substr($0, 8)); next }
/^::fail / { printf "--- FAIL: %s (0.00s)\n", run(substr($0, 8)); failed = 1; next }
/^::skip / {
	at = index($0, ": ")
	name = at ? substr($0, 8, at - 8) : substr($0, 8)
	if (at) output = output "    " substr($0, at + 2) "\n"
	printf "--- SKIP: %s (0.00s)\n", run(name)
	next
}
{ output = output "    " $0 "\n" }
END {
	printf "%s", output
	print failed ? "FAIL" : "PASS"
}
