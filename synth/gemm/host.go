package gemm

import (
	"encoding/binary"
	"strings"
	"unsafe"
)

// Host carries out a step on the host: buffers as the kernel takes them, its
// parameters, the grid. It gives the bits of a device whose multiply-add rounds twice,
// and tells how many products it has summed.
type Host func(buffers [][]byte, push []byte, grid [3]uint32) int

// OnHost returns what carries out the steps of a kernel on the host, nil where there
// is nothing for it.
func (k *Kernel) OnHost() Host {
	family, rest, _ := strings.Cut(k.Shader, ".")
	switch elem, _, _ := strings.Cut(rest, "."); elem {
	case "f32":
		return hostOf[float32](family, k.Spec)
	case "f64":
		return hostOf[float64](family, k.Spec)
	case "u32":
		return hostOf[uint32](family, k.Spec)
	case "u64":
		return hostOf[uint64](family, k.Spec)
	}
	return nil
}

type element interface {
	float32 | float64 | uint32 | uint64
}

func hostOf[T element](family string, spec []uint32) Host {
	step := map[string]func(s *hostStep[T]) int{
		"gemm_plain": plainOnHost[T], "gemm_block": blocksOnHost[T], "gemm_chunks": chunksOnHost[T],
	}[family]
	if step == nil {
		return nil
	}
	return func(buffers [][]byte, push []byte, grid [3]uint32) int {
		s := hostStep[T]{spec: spec, grid: grid,
			a: elements[T](buffers[0]), b: elements[T](buffers[1]), c: elements[T](buffers[2])}
		for at := 0; at+4 <= len(push); at += 4 {
			s.push = append(s.push, int(binary.LittleEndian.Uint32(push[at:])))
		}
		return step(&s)
	}
}

// hostStep is a dispatch on the host.
type hostStep[T element] struct {
	a, b, c []T
	push    []int
	spec    []uint32
	grid    [3]uint32
}

func elements[T element](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// groups is how many workgroups the first two dimensions of the grid have.
func (s *hostStep[T]) groups() int { return int(s.grid[0]) * int(s.grid[1]) }

// plainOnHost is shaders/gemm_plain.comp.
func plainOnHost[T element](s *hostStep[T]) (products int) {
	p := s.push
	m, n, k := p[0], p[1], p[2]
	rowA, colA, rowB, colB, batchA, batchB := p[3], p[4], p[5], p[6], p[7], p[8]
	batches, chunk, count := p[9], p[10], p[12]
	for at := range min(count, s.groups()*plainThreads) {
		col, row, z := at%n, at/n%m, at/n/m
		from := z / batches * chunk
		to := min(from+chunk, k)
		a := z%batches*batchA + row*rowA + from*colA
		b := z%batches*batchB + col*colB + from*rowB
		sum := T(0)
		for range to - from {
			sum = T(s.a[a]*s.b[b]) + sum
			a += colA
			b += rowB
		}
		s.c[at] = sum
		products += to - from
	}
	return products
}

// chunksOnHost is shaders/gemm_chunks.comp.
func chunksOnHost[T element](s *hostStep[T]) int {
	count, chunks := s.push[0], s.push[1]
	for i := range count {
		sum := s.a[i]
		for at := i + count; at < chunks*count; at += count {
			sum += s.a[at]
		}
		s.c[i] = sum
	}
	return count * chunks
}

// blocksOnHost is shaders/gemm_block.comp. The columns of B that a workgroup needs are
// packed first; groups that follow each other mostly need the same.
func blocksOnHost[T element](s *hostStep[T]) (products int) {
	p := s.push
	m, n, k, lda, ldb := p[0], p[1], p[2], p[3], p[4]
	rows, wide := int(s.spec[1]), int(s.spec[0])*blockCols
	rowA, colA, rowB, colB := lda, 1, ldb, 1
	if s.spec[2] == 1 {
		rowA, colA = 1, lda
	}
	if s.spec[3] == 1 {
		rowB, colB = 1, ldb
	}
	down := ceil(m, rows)
	packed, sums := make([]T, k*wide), make([]T, wide)
	for z := range int(s.grid[2]) {
		batch := z + p[8]
		a, b, c := s.a[batch*p[5]:], s.b[batch*p[6]:], s.c[batch*m*n:]
		have := -1
		for group := p[9]; group < p[9]+s.groups(); group++ {
			first := group / down * wide
			if first >= n {
				break
			}
			cols := min(wide, n-first)
			if have != first {
				have = first
				pack(packed, b[first*colB:], k, cols, rowB, colB)
			}
			for row := group % down * rows; row < min(group%down*rows+rows, m); row++ {
				sumRow(sums[:cols], packed, a[row*rowA:], k, colA)
				for j, x := range sums[:cols] {
					c[row*p[10]+(first+j)*p[11]] = x
				}
				products += k * cols
			}
		}
	}
	return products
}

// pack gathers columns of a matrix as k rows.
func pack[T element](to, from []T, k, cols, row, col int) {
	for i := range k {
		d := to[i*cols:][:cols]
		if col == 1 {
			copy(d, from[i*row:])
			continue
		}
		for j := range d {
			d[j] = from[i*row+j*col]
		}
	}
}

// sumRow sums a row of products in the order of k, four at a time. The conversion of a
// product keeps the compiler from fusing it with the sum.
func sumRow[T element](sums, b, a []T, k, step int) {
	n := len(sums)
	clear(sums)
	i := 0
	for ; i+4 <= k; i += 4 {
		a0, a1, a2, a3 := a[i*step], a[(i+1)*step], a[(i+2)*step], a[(i+3)*step]
		b0, b1, b2, b3 := b[i*n:][:n], b[(i+1)*n:][:n], b[(i+2)*n:][:n], b[(i+3)*n:][:n]
		for j := range sums {
			x := T(a0*b0[j]) + sums[j]
			x = T(a1*b1[j]) + x
			x = T(a2*b2[j]) + x
			sums[j] = T(a3*b3[j]) + x
		}
	}
	for ; i < k; i++ {
		x, row := a[i*step], b[i*n:][:n]
		for j := range sums {
			sums[j] = T(x*row[j]) + sums[j]
		}
	}
}
