package gemm

import (
	"encoding/binary"
	"strings"
	"sync/atomic"
	"unsafe"

	"nxvk/fallback/sched"
	"nxvk/synth/gemm/tiles"
)

// Host carries out a step on the host: buffers as the kernel takes them, its
// parameters, the grid. It gives the bits of a device whose multiply-add rounds twice,
// and tells how many products it has summed. The worker, which may be nil, shares the
// processors with others.
type Host func(w *sched.Worker, buffers [][]byte, push []byte, grid [3]uint32) int

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
	case "bf16":
		return storedOnHost[float32](family, k.Spec, tiles.BF16)
	case "f16":
		return storedOnHost[float32](family, k.Spec, tiles.F16)
	case "s8":
		return storedOnHost[uint32](family, k.Spec, tiles.S8)
	case "u8":
		return storedOnHost[uint32](family, k.Spec, tiles.U8)
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
	return func(w *sched.Worker, buffers [][]byte, push []byte, grid [3]uint32) int {
		s := newHostStep[T](w, spec, buffers, push, grid)
		s.b = elements[T](buffers[1])
		return step(s)
	}
}

func newHostStep[T element](w *sched.Worker, spec []uint32, buffers [][]byte, push []byte, grid [3]uint32) *hostStep[T] {
	s := &hostStep[T]{worker: w, spec: spec, grid: grid, a: elements[T](buffers[0]), c: elements[T](buffers[2])}
	for at := 0; at+4 <= len(push); at += 4 {
		s.push = append(s.push, int(binary.LittleEndian.Uint32(push[at:])))
	}
	return s
}

// hostStep is a dispatch on the host.
type hostStep[T element] struct {
	worker  *sched.Worker
	a, b, c []T
	stored  *storedMatrix // B where it is of a narrower type
	push    []int
	spec    []uint32
	grid    [3]uint32
}

// turn is about how many products a worker sums between two looks at whether others wait.
const turn = 1 << 20

func elements[T element](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// groups is how many workgroups the first two dimensions of the grid have.
func (s *hostStep[T]) groups() int { return int(s.grid[0]) * int(s.grid[1]) }

// plainOnHost is shaders/gemm_plain.comp.
func plainOnHost[T element](s *hostStep[T]) int {
	p := s.push
	k, chunk, count := p[2], p[10], min(p[12], s.groups()*plainThreads)
	each := max(1, turn/max(1, min(chunk, k)))
	var products atomic.Int64
	s.worker.For(count, min(each, ceil(count, sched.Processors())), func(w *sched.Worker, lo, hi int) {
		products.Add(int64(s.sums(lo, hi)))
		w.Check()
	})
	return int(products.Load())
}

// sums computes results of gemm_plain, four at a time where they are in one row: the next sum
// need not wait for the last.
func (s *hostStep[T]) sums(lo, hi int) (products int) {
	p := s.push
	m, n, k := p[0], p[1], p[2]
	rowA, colA, rowB, colB, batchA, batchB := p[3], p[4], p[5], p[6], p[7], p[8]
	batches, chunk := p[9], p[10]
	for at := lo; at < hi; {
		col, row, z := at%n, at/n%m, at/n/m
		from := z / batches * chunk
		to := min(from+chunk, k)
		a := z%batches*batchA + row*rowA + from*colA
		b := z%batches*batchB + col*colB + from*rowB
		var sum [4]T
		var stepA, stepB, many int // from one of the sums to the next
		switch {
		case at+4 <= hi && col+4 <= n:
			stepB, many = colB, 4
		case at+4 <= hi && n == 1 && row+4 <= m:
			stepA, many = rowA, 4
		default:
			many = 1
		}
		if many == 1 {
			for range to - from {
				sum[0] = T(s.a[a]*s.b[b]) + sum[0]
				a += colA
				b += rowB
			}
		} else {
			sum = s.four(a, b, stepA, stepB, colA, rowB, to-from)
		}
		copy(s.c[at:at+many], sum[:])
		at += many
		products += many * (to - from)
	}
	return products
}

// four computes sums of k products side by side.
func (s *hostStep[T]) four(a, b, stepA, stepB, nextA, nextB, k int) [4]T {
	var s0, s1, s2, s3 T
	for range k {
		s0 = T(s.a[a]*s.b[b]) + s0
		s1 = T(s.a[a+stepA]*s.b[b+stepB]) + s1
		s2 = T(s.a[a+2*stepA]*s.b[b+2*stepB]) + s2
		s3 = T(s.a[a+3*stepA]*s.b[b+3*stepB]) + s3
		a += nextA
		b += nextB
	}
	return [4]T{s0, s1, s2, s3}
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
