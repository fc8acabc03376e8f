package sweep

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// report prints a table of results, the least share first.
func report(out io.Writer, list []Result) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Result) int { return cmp.Compare(a.Share, b.Share) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "share\ttime\tGB/s\tGFLOP/s\tfirst\tfamily\tcase")
	for _, r := range list {
		if r.Error == "" {
			fmt.Fprintf(w, "%.2f\t%s\t%.1f\t%.1f\t%s\t%s\t%d %s\n", r.Share, duration(r.Time), r.Bytes/r.Time/1e3, r.Ops/r.Time/1e3,
				duration(r.First), r.Family, r.ID, r.Name)
		}
	}
	w.Flush()
	slowFirst(out, list)
	return failures(out, list)
}

// duration prints microseconds.
func duration(us float64) string {
	switch {
	case us < 1e3:
		return fmt.Sprintf("%.1fµs", us)
	case us < 1e6:
		return fmt.Sprintf("%.2fms", us/1e3)
	}
	return fmt.Sprintf("%.2fs", us/1e6)
}

// slowest is how many first results are listed.
const slowest = 20

// slowFirst prints the slowest first results.
func slowFirst(out io.Writer, list []Result) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Result) int { return cmp.Compare(b.First, a.First) })
	fmt.Fprintln(out, "\nslowest first results:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range list[:min(slowest, len(list))] {
		fmt.Fprintf(w, "%s\t%s\t%d %s\n", duration(r.First), r.Family, r.ID, r.Name)
	}
	w.Flush()
}

// failures prints the cases that failed, and returns an error if there are some.
func failures(out io.Writer, list []Result) error {
	n := 0
	for _, r := range list {
		if r.Error != "" {
			n++
			fmt.Fprintf(out, "FAILED: %s %d %s: %s\n", r.Family, r.ID, r.Name, r.Error)
		}
	}
	if n > 0 {
		return fmt.Errorf("%w: %d of %d", ErrFailed, n, len(list))
	}
	return nil
}
