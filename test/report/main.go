// Command report reads reports of tests in JUnit's XML, prints what failed and what was
// skipped, each with its reason, and ends with the counts. It fails where a test failed,
// where none passed, or where a report is not to be read.
//
//	report FILE...
package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
)

// suites is a report: the outcomes of one run.
type suites struct {
	Suites []struct {
		Name  string     `xml:"name,attr"`
		Cases []testcase `xml:"testcase"`
	} `xml:"testsuite"`
}

type testcase struct {
	Name    string   `xml:"name,attr"`
	Failure *outcome `xml:"failure"`
	Error   *outcome `xml:"error"`
	Skipped *outcome `xml:"skipped"`
}

type outcome struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// counts are those of all reports.
type counts struct{ passed, failed, skipped int }

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: report FILE...")
		os.Exit(2)
	}
	var n counts
	for _, path := range os.Args[1:] {
		if err := n.file(os.Stdout, path); err != nil {
			n.failed++
			fmt.Printf("FAIL %s: %v\n", path, err)
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", n.passed, n.failed, n.skipped)
	if n.failed > 0 || n.passed == 0 {
		os.Exit(1)
	}
}

func (n *counts) file(out io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return n.read(out, f)
}

// read counts the outcomes of a report.
func (n *counts) read(out io.Writer, r io.Reader) error {
	var all suites
	if err := xml.NewDecoder(r).Decode(&all); err != nil {
		return fmt.Errorf("read the report: %w", err)
	}
	for _, s := range all.Suites {
		for _, c := range s.Cases {
			switch {
			case c.Failure != nil:
				n.failed++
				fmt.Fprintf(out, "FAIL %s %s\n%s", s.Name, c.Name, c.Failure.text())
			case c.Error != nil:
				n.failed++
				fmt.Fprintf(out, "FAIL %s %s\n%s", s.Name, c.Name, c.Error.text())
			case c.Skipped != nil:
				n.skipped++
				fmt.Fprintf(out, "skip %s %s: %s\n", s.Name, c.Name, c.Skipped.reason())
			default:
				n.passed++
			}
		}
	}
	return nil
}

// text is what a failed test printed, as whole lines.
func (o *outcome) text() string {
	text := o.Text
	if text == "" {
		text = o.Message
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// reason is the words of a skip, between the lines by which `go test` frames them.
func (o *outcome) reason() string {
	var words []string
	for line := range strings.Lines(o.Message + "\n" + o.Text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}
