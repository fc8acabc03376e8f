package matmul

import (
	"nxvk/fallback/dense"
	"nxvk/fallback/movement"
	"nxvk/fallback/sched"
	"nxvk/ops"

	"gonum.org/v1/gonum/blas"
)

// convolution is a convolution in the plain layout: input {batch, channels, space...},
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

// tap is one element of a filter: where its channel begins in the input, and its distance
// from the filter's place along each dimension.
type tap struct {
	channel int
	offset  []int
}

// patchElements bounds the elements of the patches that are laid out at a time.
const patchElements = 1 << 17

func conv(in *dense.Call, args, outs []dense.Value) error {
	c := convolution{w: in.Worker, attrs: in.Attrs, featureGroups: in.Attrs[ops.ConvFeatureGroups][0]}
	c.groups = max(c.featureGroups, in.Attrs[ops.ConvBatchGroups][0])
	input, kernel := permuted(in.Worker, args[0], in.Attrs[ops.ConvInputPermutation]), permuted(in.Worker, args[1], in.Attrs[ops.ConvKernelPermutation])
	plain := make(ops.Shape, len(outs[0].Type.Shape))
	for i, a := range in.Attrs[ops.ConvOutputPermutation] {
		plain[i] = outs[0].Type.Shape[a]
	}
	c.input, c.kernel, c.out = input.Type.Shape, kernel.Type.Shape, plain
	c.findTaps()
	result := dense.New(ops.Type{DType: outs[0].Type.DType, Shape: plain})
	if result.Type.DType.IsComplex() {
		convolve(&c, dense.LoadAll[complex128](in.Worker, input), dense.LoadAll[complex128](in.Worker, kernel), result, multiplyPatches[complex128])
	} else {
		convolve(&c, dense.LoadAll[float64](in.Worker, input), dense.LoadAll[float64](in.Worker, kernel), result, multiplyReal)
	}
	back := make([]int, len(plain))
	for i, a := range in.Attrs[ops.ConvOutputPermutation] {
		back[a] = i
	}
	movement.Permute(in.Worker, &outs[0], &result, back)
	return nil
}

// space is the number of places of a filter. depth is the number of elements that a filter
// sees at each.
func (c *convolution) space() int { return c.out[2:].Size() }
func (c *convolution) depth() int { return c.kernel[1:].Size() }

func (c *convolution) findTaps() {
	c.taps = make([]tap, c.depth())
	channel := c.input[2:].Size()
	for k := range c.taps {
		at := coordinates(k, c.kernel[1:])
		c.taps[k] = tap{at[0] * channel, at[1:]}
		for i := range c.taps[k].offset {
			c.taps[k].offset[i] *= c.attrs[ops.ConvKernelDilation][i]
		}
	}
}

// inputAt returns the index of the input element that a tap sees from a place. It is -1 in
// the padding and between dilated elements.
func (c *convolution) inputAt(t *tap, place []int) int {
	flat := 0
	for i, n := range c.input[2:] {
		p, dilation := place[i]+t.offset[i], c.attrs[ops.ConvInputDilation][i]
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

// convolve computes the result in a class. multiply writes the products of each filter with
// each patch; both are rows of depth elements.
func convolve[C dense.Class](c *convolution, input, kernel []C, out dense.Value, multiply func(w *sched.Worker, dst, filters, patches []C, depth int)) {
	space, depth, filters := c.space(), c.depth(), c.kernel[0]/c.groups
	each, batches := c.input[1:].Size(), c.out[0]
	size := min(space, max(1, patchElements/depth)) // places at a time
	tiles := (space + size - 1) / size
	store := dense.StoreAs[C](out.Type.DType)
	dense.ParallelOn(c.w, batches*c.groups*tiles, filters*size*depth, func(w *sched.Worker, lo, hi int) {
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

// layPatches writes the elements that the taps see from each place, from place first on.
func layPatches[C dense.Class](c *convolution, patches, input []C, first int) {
	for ; len(patches) > 0; first++ {
		place := coordinates(first, c.out[2:])
		for i := range place {
			place[i] = place[i]*c.attrs[ops.ConvStrides][i] - c.attrs[ops.ConvPadding][2*i]
		}
		for k := range c.taps {
			patches[k] = 0
			if p := c.inputAt(&c.taps[k], place); p >= 0 {
				patches[k] = input[p]
			}
		}
		patches = patches[len(c.taps):]
	}
}

func multiplyPatches[C dense.Class](w *sched.Worker, dst, filters, patches []C, depth int) {
	space, p := len(patches)/depth, dense.Pacer{Worker: w}
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
	t := Tiled[float64]{Multiply: BLAS.Dgemm, Ta: blas.NoTrans, Tb: blas.Trans, M: rows, N: space, K: depth, Alpha: 1,
		A: filters, Lda: depth, B: patches, Ldb: depth, C: dst, Ldc: space}
	t.Run(w)
}
