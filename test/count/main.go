// Command count reads what test/all.sh prints, shows what failed and what was
// skipped, and ends with the counts. It fails where something failed or where
// nothing passed.
//
// Lines that are events of `go test -json` are counted by test. Lines
// `::pass NAME`, `::fail NAME` and `::skip NAME: REASON` are the outcomes of
// other steps. Everything else is printed as it is.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	c := newCounter(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		c.line(lines.Text())
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
	if !c.finish() {
		os.Exit(1)
	}
}
