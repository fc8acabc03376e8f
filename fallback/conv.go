package fallback

import (
	"gonum.org/v1/gonum/blas"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

// convolution is one in the plain layout: input {batch, channels, space...},
// kernel {filters, channels of a group, space...}, result {batch, filters,
// space...}. Each group of each batch is a matrix product of the group's
// filters with the patches that they see.
type convolution struct {
	w                     *sched.Worker
	attrs                 [][]int
	input, kernel, out    ops.Shape
	featureGroups, groups int   // groups of features or of batches, whichever there are
	taps                  []tap // the elements of a filter, in order
}

// tap is one element of a filter: where its channel begins and how far from
// the place of the filter it looks.
type tap struct {
	channel int
	reach   []int
}

// patchElements bounds the patches that are laid out at a time.
const patchElements = 1 << 17

func conv(in *call, args, outs []Value) error {
	c := convolution{w: in.w, attrs: in.Attrs, featureGroups: in.Attrs[ops.ConvFeatureGroups][0]}
	c.groups = max(c.featureGroups, in.Attrs[ops.ConvBatchGroups][0])
	input, kernel := permuted(in.w, args[0], in.Attrs[ops.ConvInputPermutation]), permuted(in.w, args[1], in.Attrs[ops.ConvKernelPermutation])
	plain := make(ops.Shape, len(outs[0].Type.Shape))
	for i, a := range in.Attrs[ops.ConvOutputPermutation] {
		plain[i] = outs[0].Type.Shape[a]
	}
	c.input, c.kernel, c.out = input.Type.Shape, kernel.Type.Shape, plain
	c.findTaps()
	result := newValue(ops.Type{DType: outs[0].Type.DType, Shape: plain})
	if result.Type.DType.IsComplex() {
		convolve(&c, loadAll[complex128](in.w, input), loadAll[complex128](in.w, kernel), result, multiplyPatches[complex128])
	} else {
		convolve(&c, loadAll[float64](in.w, input), loadAll[float64](in.w, kernel), result, multiplyReal)
	}
	back := make([]int, len(plain))
	for i, a := range in.Attrs[ops.ConvOutputPermutation] {
		back[a] = i
	}
	permute(in.w, &outs[0], &result, back)
	return nil
}

// space is the number of places of a filter, and depth what it sees at each.
func (c *convolution) space() int { return c.out[2:].Size() }
func (c *convolution) depth() int { return c.kernel[1:].Size() }

func (c *convolution) findTaps() {
	c.taps = make([]tap, c.depth())
	channel := c.input[2:].Size()
	for k := range c.taps {
		at := coordinates(k, c.kernel[1:])
		c.taps[k] = tap{at[0] * channel, at[1:]}
		for i := range c.taps[k].reach {
			c.taps[k].reach[i] *= c.attrs[ops.ConvKernelDilation][i]
		}
	}
}

// seen returns the element of the input that a tap sees from a place; -1 is
// padding, or lies between dilated elements.
func (c *convolution) seen(t *tap, place []int) int {
	flat := 0
	for i, n := range c.input[2:] {
		p, dilation := place[i]+t.reach[i], c.attrs[ops.ConvInputDilation][i]
		if dilation > 1 {
			if p%dilation != 0 {
				return -1
			}
			p /= dilation
		}
		if p < 0 || p >= n {
			return -1
		}
		flat = flat*n + p
	}
	return t.channel + flat
}

// coordinates splits a flat index.
func coordinates(i int, s ops.Shape) []int {
	at := make([]int, len(s))
	for k := len(s) - 1; k >= 0; k-- {
		at[k] = i % s[k]
		i /= s[k]
	}
	return at
}

// convolve computes the result in a class. multiply writes the products of the
// filters, rows of depth elements, with each patch, rows of as many.
func convolve[C class](c *convolution, input, kernel []C, out Value, multiply func(w *sched.Worker, dst, filters, patches []C, depth int)) {
	space, depth, filters := c.space(), c.depth(), c.kernel[0]/c.groups
	each, batches := c.input[1:].Size(), c.out[0]
	size := min(space, max(1, patchElements/depth)) // places at a time
	tiles := (space + size - 1) / size
	store := storeAs[C](out.Type.DType)
	parallelOn(c.w, batches*c.groups*tiles, filters*size*depth, func(w *sched.Worker, lo, hi int) {
		patches, dst := make([]C, size*depth), make([]C, filters*size)
		for i := lo; i < hi; i++ {
			batch, group, first := i/tiles/c.groups, i/tiles%c.groups, i%tiles*size
			from := batch * each
			if c.featureGroups > 1 {
				from += group * c.kernel[1] * c.input[2:].Size()
			} else {
				from += group * batches * each
			}
			n := min(size, space-first)
			layPatches(c, patches[:n*depth], input[from:], first)
			w.Check()
			multiply(w, dst[:filters*n], kernel[group*filters*depth:(group+1)*filters*depth], patches[:n*depth], depth)
			for f := range filters {
				store(out.Data, (batch*c.kernel[0]+group*filters+f)*space+first, dst[f*n:(f+1)*n])
			}
		}
	})
}

// layPatches writes what the taps see from each place, beginning with place
// first.
func layPatches[C class](c *convolution, patches, input []C, first int) {
	for ; len(patches) > 0; first++ {
		place := coordinates(first, c.out[2:])
		for i := range place {
			place[i] = place[i]*c.attrs[ops.ConvStrides][i] - c.attrs[ops.ConvPadding][2*i]
		}
		for k := range c.taps {
			patches[k] = 0
			if p := c.seen(&c.taps[k], place); p >= 0 {
				patches[k] = input[p]
			}
		}
		patches = patches[len(c.taps):]
	}
}

func multiplyPatches[C class](w *sched.Worker, dst, filters, patches []C, depth int) {
	space, p := len(patches)/depth, pace{w: w}
	for f := range len(filters) / depth {
		innerPaced(&p, dst[f*space:(f+1)*space], filters[f*depth:(f+1)*depth], patches)
	}
}

// multiplyReal uses BLAS where the product is large.
func multiplyReal(w *sched.Worker, dst, filters, patches []float64, depth int) {
	rows, space := len(filters)/depth, len(patches)/depth
	if rows*len(patches) <= smallWork || !finite(w, patches) {
		multiplyPatches(w, dst, filters, patches, depth)
		return
	}
	clear(dst)
	t := tiled[float64]{multiply: plainBLAS.Dgemm, ta: blas.NoTrans, tb: blas.Trans, m: rows, n: space, k: depth, alpha: 1,
		a: filters, lda: depth, b: patches, ldb: depth, c: dst, ldc: space}
	t.run(w)
}
