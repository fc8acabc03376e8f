package bench

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
	"unicode"
)

// Format is how measurements are printed.
type Format string

// The formats. Benchstat is the format of Go's benchmarks, see
// https://go.dev/design/14313-benchmark-format: one line a sample.
// golang.org/x/perf/cmd/benchstat compares the samples of two runs.
const (
	Table     Format = "table"
	Benchstat Format = "benchstat"
)

// ParseFormat returns the format of that name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case Table, Benchstat:
		return f, nil
	}
	return "", fmt.Errorf("--format %q: give table or benchstat", name)
}

// quantity is a number in a unit that benchstat knows or that header explains.
type quantity struct {
	number float64
	unit   string
}

// perOp is a time for each operation.
func perOp(t time.Duration) quantity { return quantity{float64(t.Nanoseconds()), "ns/op"} }

// higher lists the units in which a larger number is better.
var higher = []string{"B/s", "GFLOP/s", "instructions/s"}

// header says on what the lines after it were measured.
func header(out io.Writer, device string) {
	fmt.Fprintf(out, "goos: %s\ngoarch: %s\npkg: nxvk/node/bench\ndevice: %s\n", runtime.GOOS, runtime.GOARCH, device)
	for _, unit := range higher {
		fmt.Fprintf(out, "Unit %s better=higher\n", unit)
	}
}

// line prints a sample: the mean of n operations. The parts of the name are separated by
// slashes.
func line(out io.Writer, name string, n int, list ...quantity) {
	fmt.Fprintf(out, "Benchmark%s-%d\t%d", benchmarkName(name), runtime.GOMAXPROCS(0), n)
	for _, q := range list {
		digits := 3
		if q.number >= 1000 {
			digits = 0
		}
		fmt.Fprintf(out, "\t%.*f %s", digits, q.number, q.unit)
	}
	fmt.Fprintln(out)
}

// benchmarkName replaces blanks, which would end the name.
func benchmarkName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, name)
}
