package reduction

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
)

// afterWriter loads the values that a Finish takes besides the totals.
type afterWriter struct {
	*codegen.Emitter
	ins  []Place
	of   []codegen.Source
	dims []kernel.Value
}

// buffers counts the buffers that are read.
func (f *Finish) buffers() int {
	n := 0
	for i := range f.Ins {
		if f.Ins[i].Kind == codegen.FromBuffer {
			n++
		}
	}
	return n
}

// writer reads the parameters; the first buffer is number buf.
func (f *Finish) writer(e *codegen.Emitter, buf int) afterWriter {
	w := afterWriter{Emitter: e, of: f.Ins}
	for i := range f.Ins {
		p := Place{Buf: buf}
		switch f.Ins[i].Kind {
		case codegen.FromLiteral:
			p.lit = e.NextLiteral(f.Ins[i].Parts())
			w.ins = append(w.ins, p)
			continue
		case codegen.FromBuffer:
			buf++
		}
		p.offset = e.NextNumber()
		for range f.Dims {
			p.kept = append(p.kept, e.NextNumber())
		}
		w.ins = append(w.ins, p)
	}
	if len(f.Ins) > 0 {
		for range f.Dims {
			w.dims = append(w.dims, e.NextNumber())
		}
	}
	return w
}

// loaded returns the values of the sources at output o.
func (w *afterWriter) loaded(o kernel.Value) []kernel.Value {
	var vs []kernel.Value
	for i, p := range w.ins {
		if p.lit != nil {
			vs = append(vs, p.lit...)
			continue
		}
		at := w.Add(p.offset, w.Offsets(o, w.dims, p.kept))
		if w.of[i].Kind == codegen.FromIndex {
			vs = append(vs, at)
			continue
		}
		vs = append(vs, w.Fetch(p.Buf, at, 1)...)
	}
	return vs
}
