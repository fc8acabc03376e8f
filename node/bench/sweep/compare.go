package sweep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"
)

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
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.ratio, b.ratio) })
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
	laterFirst(out, pairs)
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
	fmt.Fprintln(w, "\nfamily\tcases\tgeometric mean\tleast\tbelow 1\tbelow 0.8\tbelow 0.67\tbelow 0.5")
	line := func(name string, has func(pair) bool) {
		n, sum, least := 0, 0.0, math.Inf(1)
		var below [4]int
		for _, p := range pairs {
			if !has(p) {
				continue
			}
			n++
			sum += math.Log(p.ratio)
			least = min(least, p.ratio)
			for i, bound := range []float64{1, 0.8, 1 / 1.5, 0.5} {
				if p.ratio < bound {
					below[i]++
				}
			}
		}
		if n > 0 {
			fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%d\t%d\t%d\t%d\n", name, n, math.Exp(sum/float64(n)), least, below[0], below[1], below[2], below[3])
		}
	}
	for _, f := range families {
		line(f.name, func(p pair) bool { return p.ours.Family == f.name })
	}
	line("all", func(pair) bool { return true })
	w.Flush()
}

// late is by how many microseconds a first result may be later than the other's.
const late = 50e3

// laterFirst prints the slowest of our first results, and how many are later than theirs.
func laterFirst(out io.Writer, pairs []pair) {
	behind, second := 0, 0
	for _, p := range pairs {
		if p.ours.First > p.theirs.First+late {
			behind++
		}
		if p.ours.First > 1e6 {
			second++
		}
	}
	fmt.Fprintf(out, "\nfirst results: %d of %d after more than %s, %d more than %s later than theirs; the slowest:\n",
		second, len(pairs), duration(1e6), behind, duration(late))
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.ours.First, a.ours.First) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ours\ttheirs\tfamily\tcase")
	for _, p := range pairs[:min(slowest, len(pairs))] {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d %s\n", duration(p.ours.First), duration(p.theirs.First), p.ours.Family, p.ours.ID, p.ours.Name)
	}
	w.Flush()
}
