package dot

import (
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// wholeTerms copies the operands of a product whose rows along k are no whole vectors, where that pays. Terms of zero
// fill k up, at its end: they leave every sum as it is.
func (d *Builder) wholeTerms(p *gemm.Problem, a, b *lowering.Ref) error {
	if !d.dense(p) || !p.WholeTerms(GEMMTarget(d.Target)) {
		return nil
	}
	vector := 16 / p.Type.Size()
	k := (p.K + vector - 1) / vector * vector
	if err := d.addTerms(p, &p.A, a, p.M, k, p.A.Col, p.A.Row); err != nil {
		return err
	}
	if err := d.addTerms(p, &p.B, b, p.N, k, p.B.Row, p.B.Col); err != nil {
		return err
	}
	p.K = k
	return nil
}

// dense reports whether operands that lie across k have nothing between their rows.
func (d *Builder) dense(p *gemm.Problem) bool {
	return (p.A.Col == 1 || p.A.Row == 1 && p.A.Col == p.M) && (p.B.Row == 1 || p.B.Col == 1 && p.B.Row == p.N)
}

// addTerms appends a copy of an operand with so many terms. Its neighbours along k and along its free axis, of size
// free, are so far apart.
func (d *Builder) addTerms(p *gemm.Problem, s *gemm.Strides, ref *lowering.Ref, free, terms, alongK, along int) error {
	j := rowsJob{from: *ref, typ: p.Type, lines: free, length: p.K, pitch: terms, lead: along, batch: s.Batch, matrices: p.Batch}
	if alongK != 1 { // a matrix is one line, which rows of zeros follow
		j.lines, j.length, j.pitch, j.lead = 1, p.K*free, terms*free, 0
	}
	if s.Batch == 0 {
		j.matrices = 1
	}
	size := free * terms
	j.to = d.NewTemp(j.matrices * size * p.Type.Size())
	if err := d.AddPrograms(j.program(d.Target)); err != nil {
		return err
	}
	*ref = j.to
	if j.matrices > 1 {
		s.Batch = size
	}
	switch s {
	case &p.A:
		*s = gemm.Strides{Row: terms, Col: 1, Batch: s.Batch}
		if alongK != 1 {
			s.Row, s.Col = 1, free
		}
	default:
		*s = gemm.Strides{Row: 1, Col: terms, Batch: s.Batch}
		if alongK != 1 {
			s.Row, s.Col = free, 1
		}
	}
	return nil
}
