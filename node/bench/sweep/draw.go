package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Options say which cases are drawn.
type Options struct {
	Seed     uint64
	Count    int
	Family   string // only of these families, separated by commas; empty is all
	MaxBytes int    // of the largest operand; a case has at most 512 arithmetic operations for each
}

// MaxBytes is the largest operand of sweeps.
const MaxBytes = 1 << 30

// family draws cases; it is as frequent as its weight.
type family struct {
	name   string
	weight int
	draw   func(b *builder)
}

// Families lists the names of the families.
func Families() (names []string) {
	for _, f := range families {
		names = append(names, f.name)
	}
	return names
}

// Draw returns the cases of a seed. Each deck of families has every family as often as its
// weight, so that few cases have many families.
func Draw(o Options) ([]Case, error) {
	chosen, err := choose(o.Family)
	if err != nil {
		return nil, err
	}
	if o.MaxBytes < 1<<16 {
		return nil, fmt.Errorf("operands of at most %d bytes are too small: give at least %d", o.MaxBytes, 1<<16)
	}
	var deck []family
	for _, f := range chosen {
		deck = append(deck, slices.Repeat([]family{f}, f.weight)...)
	}
	cases := make([]Case, o.Count)
	order := slices.Clone(deck)
	for i := range cases {
		if k := i % len(deck); k == 0 {
			copy(order, deck)
			rand.New(rand.NewPCG(o.Seed, ^uint64(i/len(deck)))).Shuffle(len(order), func(x, y int) { order[x], order[y] = order[y], order[x] })
		}
		cases[i] = drawCase(order[i%len(deck)], o, i)
	}
	return cases, nil
}

func choose(names string) ([]family, error) {
	if names == "" {
		return families, nil
	}
	var chosen []family
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no family %q: give some of %s", name, strings.Join(Families(), ", "))
		}
		chosen = append(chosen, families[i])
	}
	return chosen, nil
}

// drawCase draws the case of a number, with smaller operands until it is within the limits.
func drawCase(f family, o Options, id int) Case {
	r := rand.New(rand.NewPCG(o.Seed, uint64(id)))
	for scale := 1.0; ; scale *= 0.7 {
		b := &builder{Rand: r, limit: float64(o.MaxBytes), scale: scale}
		b.c.ID, b.c.Family, b.c.Params = id, f.name, []Param{}
		if fits(func() { f.draw(b); b.check() }) {
			b.rectify()
			b.c.Name = b.name()
			return b.c
		}
	}
}

// fits reports whether a case is within its limits.
func fits(draw func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil && r != any(errTooLarge) {
			panic(r)
		}
	}()
	draw()
	return true
}
