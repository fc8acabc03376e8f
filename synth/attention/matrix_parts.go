package attention

import (
	"fmt"

	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// Few heads of few queries have few tiles, which leave a device empty, whatever the number of keys. So the kernel for matrix
// hardware divides the keys of its queries among workgroups where the model of time says that this pays. Each gives sums
// that are not divided, the greatest logit and the sum of the weights; a second kernel joins them.

// Shares is the number of parts that the keys of a query are divided into on matrix hardware, if they have so many
// blocks. With 0 the model chooses. Tests and measurements set it.
var Shares int

// surely is the ratio of two estimates from which on the model is trusted that the lesser time is less.
const surely = 0.9

// maxShares is how many parts of a query there are at most: an invocation of the kernel that joins has all of them in registers.
const maxShares = maxJoined

// divide chooses the parts of the keys of a query.
func (m *matrixJob) divide() {
	m.parts = 1
	blocks := ceil(m.keys, m.Keys)
	if m.width0()%joinVector != 0 || m.target.SubgroupSize < m.shape.M || m.batches*m.queries*maxShares*m.partLine() >= 1<<31 {
		return
	}
	least := surely * m.streamed()
	for parts := 2; parts <= min(maxShares, blocks); parts++ {
		if ceil(blocks, ceil(blocks, parts)) != parts {
			continue // as many blocks of a workgroup as with fewer parts
		}
		try := *m
		try.parts = parts
		if s := try.streamed(); Shares == 0 && s < least || Shares > 0 && parts <= Shares {
			m.parts, least = parts, s
		}
	}
}

// partLine is how many numbers a part leaves for a query.
func (m *matrixJob) partLine() int { return m.width + joinVector }

// partBytes is the size of all parts.
func (m *matrixJob) partBytes() int64 {
	return int64(m.batches*m.queries*m.parts) * int64(4*m.partLine())
}

// partRef is the temporary that has them.
func (m *matrixJob) partRef() lowering.Ref {
	return lowering.Ref{Kind: lowering.Temp, Index: len(m.lies.Temps)}
}

// joining is the kernel that joins the parts of a query, some columns by an invocation.
func (m *matrixJob) joining() *codegen.Program {
	units := m.batches * m.queries * m.width0() / joinVector
	local, _ := elementwise.Workgroup(m.target, joinVector)
	p := &codegen.Program{Local: uint32(local), Groups: ceil(units, local), Body: m.join, Index: codegen.IndexType(m.batches * m.queries * m.parts * m.partLine()),
		Key: fmt.Sprintf("attention parts=%d to %v", m.parts, m.result), Numbers: []int{m.width0() / joinVector, m.partLine() / joinVector, units}}
	b := codegen.Buffer{Ref: m.partRef(), Elem: kernel.F32, Access: lowering.Read, Bytes: m.partBytes()}
	p.Buffers, p.Bytes = append(p.Buffers, b), b.Bytes
	m.addResult(p)
	return p
}

// join is the body of joining.
func (m *matrixJob) join(e *codegen.Emitter) error {
	w := &writer{Writer: tile.Writer{Emitter: e}, job: m.job}
	if err := w.functions(); err != nil {
		return err
	}
	columns, line, all := e.NextNumber(), e.NextNumber(), e.NextNumber()
	at := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.IfThen(e.IsLess(at, all), func() {
		query, c := e.DivMod(at, columns)
		first := e.Mul(query, e.Mul(line, e.Index(m.parts)))
		var tails, sums [][]kernel.Value
		for i := range m.parts {
			part := e.Add(first, e.Mul(line, e.Index(i)))
			tails = append(tails, e.Fetch(0, e.Add(part, e.Sub(line, e.Index(1))), joinVector)[:2])
			sums = append(sums, e.Fetch(0, e.Add(part, c), joinVector))
		}
		out, total := w.joinAll(tails, sums)
		w.storeResults(at, out, total)
	})
	return nil
}
