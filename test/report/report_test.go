package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1">
	<testsuite tests="4" failures="1" name="nxvk/p">
		<testcase classname="nxvk/p" name="TestGood" time="0.1"></testcase>
		<testcase classname="nxvk/p" name="TestNo" time="0">
			<skipped message="=== RUN   TestNo&#xA;    x_test.go:3: no device&#xA;--- SKIP: TestNo (0.00s)&#xA;"></skipped>
		</testcase>
		<testcase classname="nxvk/p" name="TestBad" time="0">
			<failure message="Failed" type="">got 1&#xA;</failure>
		</testcase>
		<testcase classname="nxvk/p" name="setup"><error message="no build"/></testcase>
	</testsuite>
</testsuites>`
	var out strings.Builder
	var n counts
	if err := n.read(&out, strings.NewReader(report)); err != nil {
		t.Fatal(err)
	}
	if want := (counts{passed: 1, failed: 2, skipped: 1}); n != want {
		t.Errorf("got %+v, want %+v", n, want)
	}
	want := "skip nxvk/p TestNo: x_test.go:3: no device\nFAIL nxvk/p TestBad\ngot 1\nFAIL nxvk/p setup\nno build\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if err := n.read(&out, strings.NewReader("no report")); err == nil {
		t.Error("text that is no report is read")
	}
}
