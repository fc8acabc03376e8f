package sweep

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"
)

// report prints a table of results, the least share first.
func report(out io.Writer, list []Result) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Result) int { return order(a.Share, b.Share) })
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

func order(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
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

// slowFirst prints the slowest first results.
func slowFirst(out io.Writer, list []Result) {
	const most = 20
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Result) int { return order(b.First, a.First) })
	fmt.Fprintln(out, "\nslowest first results:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range list[:min(most, len(list))] {
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

// Compare prints how fast the cases of one file of results are beside those of another, and
// returns ErrFailed if some of the first failed.
func Compare(out io.Writer, ours, theirs string) error {
	a, err := readResults(ours)
	if err != nil {
		return err
	}
	b, err := readResults(theirs)
	if err != nil {
		return err
	}
	return compare(out, a, b, theirs)
}

func readResults(name string) (list []Result, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = lines(f, func(line string) error {
		var r Result
		err := json.Unmarshal([]byte(line), &r)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// pair is a case that both have measured.
type pair struct {
	ours, theirs Result
	ratio        float64 // their time by ours: above 1, ours is faster
}

// join pairs results, and returns ours that have no counterpart, too.
func join(ours, theirs []Result) (pairs []pair, alone []Result) {
	other := make(map[int]Result)
	for _, r := range theirs {
		other[r.ID] = r
	}
	for _, r := range ours {
		t, found := other[r.ID]
		switch {
		case r.Error != "":
		case !found || t.Error != "" || t.Time <= 0:
			alone = append(alone, Result{ID: r.ID, Family: r.Family, Name: r.Name, Error: t.Error})
		default:
			pairs = append(pairs, pair{r, t, t.Time / r.Time})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return order(a.ratio, b.ratio) })
	return pairs, alone
}

// compare prints a table, worst first, with geometric means.
func compare(out io.Writer, ours, theirs []Result, name string) error {
	pairs, alone := join(ours, theirs)
	fmt.Fprintf(out, "beside %s; ratio is its time by ours\n", name)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ratio\tours\ttheirs\tshare\tfirst\tits first\tfamily\tcase")
	for _, p := range pairs {
		fmt.Fprintf(w, "%.2f\t%s\t%s\t%.2f\t%s\t%s\t%s\t%d %s\n", p.ratio, duration(p.ours.Time), duration(p.theirs.Time), p.ours.Share,
			duration(p.ours.First), duration(p.theirs.First), p.ours.Family, p.ours.ID, p.ours.Name)
	}
	w.Flush()
	means(out, pairs)
	slowFirst(out, ours)
	for _, r := range alone {
		fmt.Fprintf(out, "no counterpart: %s %d %s: %s\n", r.Family, r.ID, r.Name, r.Error)
	}
	return failures(out, ours)
}

// means prints the geometric mean of ratios by family and overall.
func means(out io.Writer, pairs []pair) {
	if len(pairs) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfamily\tcases\tgeometric mean\tleast\tbelow 1\tbelow 0.8\tbelow 0.5")
	line := func(name string, has func(pair) bool) {
		n, sum, least := 0, 0.0, math.Inf(1)
		var below [3]int
		for _, p := range pairs {
			if !has(p) {
				continue
			}
			n++
			sum += math.Log(p.ratio)
			least = min(least, p.ratio)
			for i, bound := range []float64{1, 0.8, 0.5} {
				if p.ratio < bound {
					below[i]++
				}
			}
		}
		if n > 0 {
			fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%d\t%d\t%d\n", name, n, math.Exp(sum/float64(n)), least, below[0], below[1], below[2])
		}
	}
	for _, f := range families {
		line(f.name, func(p pair) bool { return p.ours.Family == f.name })
	}
	line("all", func(pair) bool { return true })
	w.Flush()
}
