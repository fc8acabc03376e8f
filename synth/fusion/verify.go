package fusion

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// Verify reports the first fault of fusions that are to carry out a graph, in order:
//
//   - each value that a fusion or one of its instructions reads is a parameter or made before,
//   - the instructions of a fusion make its results, and no two fusions give the same,
//   - each kept value that the graph makes is given by a fusion.
//
// What Simplify has left out of the graph is no fault. The time grows with the number of instructions.
func Verify(g *Graph, list []Fusion) error {
	have := make(map[ops.ID]bool, len(g.Params)+len(g.Body))
	for _, p := range g.Params {
		have[p.ID] = true
	}
	if err := verifyAll(list, have); err != nil {
		return err
	}
	kept := make(map[ops.ID]bool, len(g.Keep))
	for _, id := range g.Keep {
		kept[id] = true
	}
	for i := range g.Body {
		for _, o := range g.Body[i].Outs {
			if kept[o.ID] && !have[o.ID] {
				return fmt.Errorf("no fusion gives %%%d, which is needed: %s", o.ID, line(&g.Body[i]))
			}
		}
	}
	return nil
}

// verifyAll verifies fusions that begin with some values, and adds those that they give.
func verifyAll(list []Fusion, have map[ops.ID]bool) error {
	for i := range list {
		u := &list[i]
		if err := u.verify(have); err != nil {
			return fmt.Errorf("fusion %d of %d: %w", i+1, len(list), err)
		}
		for _, o := range u.Outs {
			if have[o.ID] {
				return fmt.Errorf("fusion %d of %d gives %%%d, which is there: %s", i+1, len(list), o.ID, u.lastLine())
			}
			have[o.ID] = true
		}
	}
	return nil
}

// verify reports whether a fusion reads only values that there are, and makes its results.
func (u *Fusion) verify(have map[ops.ID]bool) error {
	inside := make(map[ops.ID]bool, len(u.Ins)+len(u.Body))
	for _, id := range u.Ins {
		if !have[id] {
			return fmt.Errorf("it reads %%%d, which is not made before: %s", id, u.readerOf(id))
		}
		inside[id] = true
	}
	lits := make(map[*ops.Literal]bool, len(u.Lits))
	for _, l := range u.Lits {
		lits[l] = true
	}
	made := make(map[ops.ID]bool, len(u.Body))
	for i := range u.Body {
		in := &u.Body[i]
		for _, o := range in.Ins {
			if o.Lit == nil && !inside[o.ID] {
				return fmt.Errorf("%%%d is not an operand and not made before: %s", o.ID, line(in))
			}
			if o.Lit != nil && !lits[o.Lit] {
				return fmt.Errorf("a literal is not an operand: %s", line(in))
			}
		}
		for _, o := range in.Outs {
			if o.ID == 0 {
				return fmt.Errorf("a result has no id: %s", line(in))
			}
			inside[o.ID], made[o.ID] = true, true
		}
	}
	for _, o := range u.Outs {
		if !made[o.ID] {
			return fmt.Errorf("no instruction makes its result %%%d: %s", o.ID, u.lastLine())
		}
	}
	for _, id := range u.Whole {
		if !u.Gives(id) {
			return fmt.Errorf("the concatenation %%%d is no result: %s", id, u.lastLine())
		}
	}
	return u.verifyParts()
}

// verifyParts verifies the stages of a fusion, and those that are abreast in it.
func (u *Fusion) verifyParts() error {
	if len(u.Stages) == 0 && len(u.Abreast) == 0 {
		return nil
	}
	begin := func() map[ops.ID]bool {
		have := make(map[ops.ID]bool, len(u.Ins))
		for _, id := range u.Ins {
			have[id] = true
		}
		return have
	}
	given := begin()
	if err := verifyAll(u.Stages, given); err != nil {
		return fmt.Errorf("as a stage, %w", err)
	}
	for i := range u.Abreast {
		have := begin()
		if err := verifyAll(u.Abreast[i:i+1], have); err != nil {
			return fmt.Errorf("abreast of others, %w", err)
		}
		for _, o := range u.Abreast[i].Outs {
			given[o.ID] = true
		}
	}
	for _, o := range u.Outs {
		if !given[o.ID] {
			return fmt.Errorf("no part gives its result %%%d: %s", o.ID, u.lastLine())
		}
	}
	return nil
}

// readerOf is the first instruction that reads a value, as text.
func (u *Fusion) readerOf(id ops.ID) string {
	for i := range u.Body {
		for _, o := range u.Body[i].Ins {
			if o.Lit == nil && o.ID == id {
				return line(&u.Body[i])
			}
		}
	}
	return u.lastLine()
}

// lastLine is the last instruction of a fusion, as text.
func (u *Fusion) lastLine() string {
	if len(u.Body) == 0 {
		return "a fusion without instructions"
	}
	return line(&u.Body[len(u.Body)-1])
}

// longestLine is how much of an instruction is said: a literal may have many elements.
const longestLine = 300

func line(in *ops.Instr) string {
	s := notation.Line(in)
	if len(s) > longestLine {
		s = s[:longestLine] + "…"
	}
	return s
}
