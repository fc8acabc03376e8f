package program

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/ops"
	"nxvk/synth"
)

// Why parts are not fusions.
const (
	WhyHost    = "the host carries out one instruction after the other"
	WhyAlone   = "fusing is switched off"
	WhyControl = "no part goes beyond a loop, a branch or a message"
)

// explain notes why a fusion of the steps of a block before step hi is what it is.
func (c *Partitioner) explain(u *synth.Fusion, b *Block, hi int) {
	var lines []string
	if u.Why.Rules != 0 {
		lines = append(lines, fmt.Sprintf("joined by %v", u.Why.Rules))
	}
	var e ends
	for _, end := range u.Why.Ends {
		e.add(end.Reader, end.Reason)
	}
	for i := hi; i < len(b.Steps); i++ {
		if slices.ContainsFunc(b.Steps[i].needs(), u.Gives) {
			e.add(&b.Steps[i].In.Instr, WhyControl)
		}
	}
	lines = append(lines, e.lines()...)
	for _, o := range b.Values {
		if line := fmt.Sprintf("%%%d is a result", o.ID); o.Lit == nil && u.Gives(o.ID) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	c.Why[u.Outs[0].ID] = lines
}

// ends gathers what comes after a fusion, by why it is no part of it.
type ends struct {
	reasons []string
	readers map[string][]string
}

func (e *ends) add(in *ops.Instr, reason string) {
	if e.readers == nil {
		e.readers = make(map[string][]string)
	}
	if e.readers[reason] == nil {
		e.reasons = append(e.reasons, reason)
	}
	name := in.Op.String()
	if len(in.Outs) > 0 {
		name = fmt.Sprintf("%%%d %s", in.Outs[0].ID, name)
	}
	e.readers[reason] = append(e.readers[reason], name)
}

// maxReaders bounds how many instructions a line names.
const maxReaders = 3

func (e *ends) lines() (lines []string) {
	for _, reason := range e.reasons {
		names := e.readers[reason]
		list := strings.Join(names[:min(maxReaders, len(names))], ", ")
		if more := len(names) - maxReaders; more > 0 {
			list = fmt.Sprintf("%s and %d more", list, more)
		}
		lines = append(lines, fmt.Sprintf("ends before %s: %s", list, reason))
	}
	return lines
}
