package program

import (
	"math"
	"slices"

	"nxvk/ops"
)

// Specialization is a program with the fusions of one set of literal parameters: kernels
// take those as push constants. The zero one is that of a trace that nobody has seen.
type Specialization struct {
	seen    int    // how often it has been asked for
	rounds  int    // of loops of runs without its fusions
	literal []byte // which parameters are literals
	Body    *Block // nil until all fusions have plans, made or being made

	// See warm_start.go.
	asked      bool     // its fusions have been asked for
	archiveKey string   // its name in the archive
	warm       bool     // an earlier life has compiled it, and the first run waits for its fusions
	early      bool     // an earlier life has compiled it, and the first run does not wait
	compiling  bool     // its fusions or their kernels are being made
	missing    int      // what is being made: the fusions, plans and kernels
	waiting    []func() // the runs that wait for it
}

// Warm reports whether an earlier life of the node has compiled it, so that runs wait for it.
func (t *Specialization) Warm() bool { return t.warm }

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

// MaxSpecializations bounds the specializations of a program, by which parameters are literals.
const MaxSpecializations = 16

// specialization returns the specialization of a program for literal parameters, which are above 0 in
// the key.
func (p *Program) specialization(key string, begin func() *Specialization) *Specialization {
	t := p.specializations[key]
	if t != nil {
		return t
	}
	if p.specializations == nil {
		p.specializations = make(map[string]*Specialization)
	}
	if len(p.specializations) >= MaxSpecializations {
		delete(p.specializations, p.rarest())
	}
	t = begin()
	p.specializations[key] = t
	return t
}

// literalKey marks the parameters of a program that are literals, a byte for each.
func (p *Program) literalKey(lits []*ops.Literal) []byte {
	key := make([]byte, len(p.Body.Params))
	for i, param := range p.Body.Params {
		if lits[param.ID] != nil {
			key[i] = 1
		}
	}
	return key
}

// Usual says which parameters are literals in runs of the program: of several
// sets that have been seen again, the one with the fewest.
func (p *Program) Usual() string {
	var keys []string
	for key, t := range p.specializations {
		if t.seen > 1 {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return slices.Min(keys)
}

// Compiled returns the bodies of those whose fusions all have plans, made or being made.
func (p *Program) Compiled() (list []*Block) {
	for _, t := range p.specializations {
		if t.Body != nil {
			list = append(list, t.Body)
		}
	}
	return list
}

// Specialized returns how many specializations the program has.
func (p *Program) Specialized() int { return len(p.specializations) }
