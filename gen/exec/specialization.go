package exec

import (
	"math"

	"nxvk/ops"
)

// specialization is a program with the fusions of one set of literal parameters: kernels
// take those as push constants. The zero one is that of a trace that nobody has seen.
type specialization struct {
	seen int    // how often it has been asked for
	body *block // nil until the fusions are known

	// See warm_start.go.
	asked   bool      // its fusions have been asked for
	mark    string    // its name in the archive
	warm    bool      // an earlier life has compiled it, and the first run waits for its fusions
	early   bool      // an earlier life has compiled it, and the first run does not wait
	failed  bool      // it cannot be cut
	forming bool      // its fusions or their kernels are being made
	fusions []*fusion // once they are known
	waiting []func()  // the runs that wait for it
}

// Body returns the program in fusions, nil until these are known.
func (t *specialization) Body() *block { return t.body }

// Warm reports whether an earlier life of the node has compiled it, so that runs wait for it.
func (t *specialization) Warm() bool { return t.warm }

// rarest is the key of the specialization that has been asked for least.
func (p *Program) rarest() (key string) {
	least := math.MaxInt
	for k, t := range p.specializations {
		if t.seen < least || t.seen == least && k < key {
			key, least = k, t.seen
		}
	}
	return key
}

// maxSpecializations bounds the specializations of a program, by which parameters are literals.
const maxSpecializations = 16

// specialization returns the specialization of a program for literal parameters, which are above 0 in
// the key.
func (p *Program) specialization(key string, begin func() *specialization) *specialization {
	t := p.specializations[key]
	if t != nil {
		return t
	}
	if p.specializations == nil {
		p.specializations = make(map[string]*specialization)
	}
	if len(p.specializations) >= maxSpecializations {
		delete(p.specializations, p.rarest())
	}
	t = begin()
	p.specializations[key] = t
	return t
}

// literalKey marks the parameters of a program that are literals, a byte for each.
func (p *Program) literalKey(lits []*ops.Literal) []byte {
	key := make([]byte, len(p.body.params))
	for i, param := range p.body.params {
		if lits[param.ID] != nil {
			key[i] = 1
		}
	}
	return key
}

// Specializations returns how many specializations the program has.
func (p *Program) Specializations() int { return len(p.specializations) }
