package main

import (
	"fmt"
	"io"

	"nxvk/ops"
)

// written hashes a program itself: its instructions, their literals, and the data of its
// parameters. It names operations and types, because their numbers depend on the table.
func written(p *program) string {
	h := newHash()
	writeRegion(h, p.region)
	for _, data := range p.inputs {
		writeData(h, data)
	}
	return sum(h)
}

func writeRegion(w io.Writer, r *ops.Region) {
	fmt.Fprintln(w, "region")
	writeResults(w, r.Params)
	for i := range r.Body {
		in := &r.Body[i]
		fmt.Fprintln(w, in.Op, in.Attrs)
		writeOperands(w, in.Ins)
		writeResults(w, in.Outs)
		for _, inner := range in.Regions {
			writeRegion(w, inner)
		}
	}
	writeOperands(w, r.Values)
	fmt.Fprintln(w, "end")
}

func writeResults(w io.Writer, list []ops.Result) {
	fmt.Fprintln(w, "results", len(list))
	for _, x := range list {
		fmt.Fprintln(w, x.ID, x.Type)
	}
}

func writeOperands(w io.Writer, list []ops.Operand) {
	fmt.Fprintln(w, "operands", len(list))
	for _, o := range list {
		if o.Lit == nil {
			fmt.Fprintln(w, o.ID)
			continue
		}
		fmt.Fprintln(w, "literal", o.Lit.Type)
		writeData(w, o.Lit.Data)
	}
}

func writeData(w io.Writer, data []byte) {
	fmt.Fprintln(w, "data", len(data))
	w.Write(data)
}
