package synth

import "nxvk/synth/kernel"

// afterWriter loads what makes results of totals.
type afterWriter struct {
	*emitter
	ins  []reducePlace
	of   []source
	dims []kernel.Value
}

// buffers counts the buffers that are read.
func (f *finish) buffers() int {
	n := 0
	for i := range f.ins {
		if f.ins[i].kind == fromBuffer {
			n++
		}
	}
	return n
}

// writer takes the parameters; the first buffer is number buf.
func (f *finish) writer(e *emitter, buf int) afterWriter {
	w := afterWriter{emitter: e, of: f.ins}
	for i := range f.ins {
		p := reducePlace{buf: buf}
		switch f.ins[i].kind {
		case fromLiteral:
			p.lit = e.lit(f.ins[i].parts())
			w.ins = append(w.ins, p)
			continue
		case fromBuffer:
			buf++
		}
		p.offset = e.num()
		for range f.dims {
			p.kept = append(p.kept, e.num())
		}
		w.ins = append(w.ins, p)
	}
	if len(f.ins) > 0 {
		for range f.dims {
			w.dims = append(w.dims, e.num())
		}
	}
	return w
}

// loaded gives what the sources have for output o.
func (w *afterWriter) loaded(o kernel.Value) []kernel.Value {
	var vs []kernel.Value
	for i, p := range w.ins {
		if p.lit != nil {
			vs = append(vs, p.lit...)
			continue
		}
		at := w.Add(p.offset, w.walk(o, w.dims, p.kept))
		if w.of[i].kind == fromIndex {
			vs = append(vs, at)
			continue
		}
		vs = append(vs, w.fetch(p.buf, at, 1)...)
	}
	return vs
}
