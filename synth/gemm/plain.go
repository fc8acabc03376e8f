package gemm

// plain carries any product, one result an invocation:
// shaders/gemm_plain.comp.
type plain struct {
	shares int
}

const plainThreads = 64

func (m plain) plan(p *Problem, t *Target) (*Plan, error) {
	chunk := ceil(p.K, m.shares)
	shares := ceil(p.K, chunk)
	count := p.Batch * p.M * p.N * shares
	g := fold(ceil(count, plainThreads), t)
	step := Step{
		Kernel: p.plainKernel("gemm_plain", t),
		In:     [2]Buffer{A, B},
		Out:    C,
		Push: words([]int{p.M, p.N, p.K, p.A.Row, p.A.Col, p.B.Row, p.B.Col, p.A.Batch, p.B.Batch,
			p.Batch, chunk, int(g[0]), count}),
		Grid:  g,
		Bytes: p.bytes(),
		Flops: p.flops(),
	}
	return p.shared([]Step{step}, shares, t)
}

// plainKernel is one whose invocations make a result each.
func (p *Problem) plainKernel(name string, t *Target) Kernel {
	return Kernel{Shader: p.shader(name, t), Spec: []uint32{plainThreads}, Local: [3]uint32{plainThreads, 1, 1}}
}
