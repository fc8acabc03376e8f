package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is a line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// name identifies a test, or a package where Test is empty.
type name struct{ pkg, test string }

// counter counts outcomes and keeps the output of tests until theirs is known.
type counter struct {
	out                     io.Writer
	output                  map[name][]string
	failing                 map[string]bool // packages of which a test has failed
	passed, failed, skipped int
}

func newCounter(out io.Writer) *counter {
	return &counter{out: out, output: make(map[name][]string), failing: make(map[string]bool)}
}

func (c *counter) line(text string) {
	if strings.HasPrefix(text, "{") {
		var e event
		if err := json.Unmarshal([]byte(text), &e); err == nil && e.Action != "" {
			c.event(e)
			return
		}
	}
	verdict, rest, _ := strings.Cut(text, " ")
	switch verdict {
	case "::pass":
		c.passed++
		fmt.Fprintln(c.out, "ok  ", rest)
	case "::fail":
		c.failed++
		fmt.Fprintln(c.out, "FAIL", rest)
	case "::skip":
		c.skipped++
		fmt.Fprintln(c.out, "skip", rest)
	default:
		fmt.Fprintln(c.out, text)
	}
}

func (c *counter) event(e event) {
	n := name{e.Package, e.Test}
	switch e.Action {
	case "output":
		c.output[n] = append(c.output[n], e.Output)
	case "build-output":
		fmt.Fprint(c.out, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			c.endPackage(e)
		} else {
			c.endTest(e)
		}
		delete(c.output, n)
	}
}

func (c *counter) endTest(e event) {
	switch e.Action {
	case "pass":
		c.passed++
	case "skip":
		c.skipped++
		fmt.Fprintf(c.out, "skip %s %s: %s\n", e.Package, e.Test, reason(c.output[name{e.Package, e.Test}]))
	case "fail":
		c.failed++
		c.failing[e.Package] = true
		fmt.Fprintf(c.out, "FAIL %s %s\n%s", e.Package, e.Test, strings.Join(c.output[name{e.Package, e.Test}], ""))
	}
}

// endPackage notes the end of a package. One that fails although none of its
// tests did could not be built, or died.
func (c *counter) endPackage(e event) {
	switch {
	case e.Action == "pass":
		fmt.Fprintf(c.out, "ok   %s %.1fs\n", e.Package, e.Elapsed)
	case e.Action == "fail" && !c.failing[e.Package]:
		c.failed++
		fmt.Fprintf(c.out, "FAIL %s\n%s", e.Package, c.pending(e.Package))
	}
	for n := range c.output {
		if n.pkg == e.Package {
			delete(c.output, n)
		}
	}
	delete(c.failing, e.Package)
}

// pending is the output of everything in a package that has not ended.
func (c *counter) pending(pkg string) string {
	var b strings.Builder
	for n, lines := range c.output {
		if n.pkg == pkg {
			b.WriteString(strings.Join(lines, ""))
		}
	}
	return b.String()
}

// reason finds the words of a skip between the lines that frame it.
func reason(output []string) string {
	var words []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

// finish prints the counts and reports whether all is well.
func (c *counter) finish() bool {
	fmt.Fprintf(c.out, "%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped)
	return c.failed == 0 && c.passed > 0
}
