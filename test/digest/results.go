package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"nxvk/fallback"
	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth"
)

func newHash() hash.Hash { return sha256.New() }

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }

// onHost hashes the results of package fallback.
func onHost(p *program) string {
	h := newHash()
	params := make([]fallback.Value, len(p.inputs))
	for i, data := range p.inputs {
		params[i] = fallback.Value{Type: p.region.Params[i].Type, Data: data}
	}
	values, err := fallback.NewEvaluator(p.region).Eval(params...)
	if err != nil {
		fmt.Fprintln(h, "error")
		return sum(h)
	}
	for _, v := range values {
		h.Write(v.Data)
	}
	return sum(h)
}

// inNode hashes the results of an executor that has no device.
func inNode(p *program) string {
	d := exectest.NewFor(nil, synth.Target{}, 0)
	defer d.Close()
	return executed(d, p, 1)
}

// executed runs a program so many times. Where the results of a run differ from those
// of the first, its hash has both.
func executed(d *exectest.Driver, p *program, times int) string {
	var ids []ops.ID
	var ins []ops.Operand
	for i, x := range p.region.Params {
		id := d.Upload(x.Type, p.inputs[i])
		ids, ins = append(ids, id), append(ins, ops.Operand{ID: id})
	}
	defer d.Free(ids...)
	d.Define(p.name, p.region)
	first := ""
	for range times {
		results := d.Run(p.name, p.types, ins...)
		h := newHash()
		for _, id := range results {
			data, err := d.Read(id)
			if err != nil {
				fmt.Fprintln(h, "error")
			}
			h.Write(data)
		}
		d.Free(results...)
		if err := d.Built(); err != nil {
			return "error"
		}
		switch s := sum(h); {
		case first == "":
			first = s
		case s != first:
			return first + "!" + s
		}
	}
	return first
}
