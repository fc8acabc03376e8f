package gemm

import (
	"errors"
	"fmt"

	"nxvk/ops"
)

// ErrTooLarge says that a product exceeds what kernels can index or bind.
var ErrTooLarge = errors.New("product is too large for one kernel")

// ErrUnbound is the ErrTooLarge of an operand that kernels reach by address alone.
var ErrUnbound = fmt.Errorf("%w with bindings", ErrTooLarge)

// Strides are the elements between neighbours along each dimension of an
// operand. The stride of a dimension of size 1 does not matter.
type Strides struct {
	Row, Col, Batch int

	// Whole says that rows of storage begin at 16 bytes and may be read in whole vectors, also
	// beyond the matrix; First is how many zeros are before each row. They are for operands of
	// matrix hardware.
	Whole bool
	First int
}

// Problem is C[b,m,n] = Σ A[b,m,k]·B[b,k,n] with C dense. Type is F32, F64,
// S32, U32, S64 or U64.
type Problem struct {
	Type           ops.DType
	M, N, K, Batch int
	// Operands is the type of the elements of A and B, where kernels load them as they are and sum
	// in Type: F32 for BF16 and F16, integers of 32 bits for S8 and U8. It is Invalid where they are
	// of Type. Products with few vectors have kernels for that on all devices that have addresses,
	// others on matrix hardware. On a processor it is the type of the LargeMatrix alone.
	Operands ops.DType
	A        Strides // Row along m, Col along k
	B        Strides // Row along k, Col along n
}

// Target is what a plan must know of a device.
type Target struct {
	CPU            bool // a processor: no shared memory, bindings
	Addresses      bool
	SharedMemory   int // bytes a workgroup
	MaxInvocations int // a workgroup
	Subgroup       int // invocations of a subgroup
	MaxGroups      [3]uint32
	MaxBinding     int64 // bytes; 0 means any
	MaxPush        int   // bytes of push constants; 0 means 128
	MaxFlops       int   // of a dispatch; 0 picks a bound
	Matrices       []Matrix
}

// Buffer is what a step reads or writes.
type Buffer uint8

// The buffers of a plan.
const (
	A       Buffer = iota
	B              // the right operand
	C              // the result
	Partial        // sums of shares of k, Plan.Partial bytes
)

// Kernel is a shader with its specialisation.
type Kernel struct {
	Shader       string // name in package shaders
	Spec         []uint32
	Local        [3]uint32
	SubgroupSize int // of a subgroup, where the kernel counts on it

	// Starter is a kernel that a driver compiles in a fraction of the time. It does the same with the same arguments, and gives
	// the same bits, but takes several times as long. It is nil where there is none.
	Starter *Kernel
}

// String names a kernel by its shader and its specialisation.
func (k Kernel) String() string { return fmt.Sprint(k.Shader, " ", k.Spec) }

// Step is one dispatch. In holds two buffers and Out the one written; the
// kernels take them in this order.
type Step struct {
	Kernel Kernel
	In     [2]Buffer
	Out    Buffer
	Push   []byte
	Grid   [3]uint32
	Bytes  int64 // moved, at least
	Flops  int64
}

// Plan is the steps of a product, each after the one before.
type Plan struct {
	Steps   []Step
	Partial int64 // bytes of the Partial buffer; 0 when there is none
	Row     int   // elements of a row of C, whose neighbours kernels store together, wherever these begin; 0 if that is not known
}

// New plans a product. All sizes are at least 1.
func New(p Problem, t *Target) (*Plan, error) {
	if err := p.check(t); err != nil {
		return nil, err
	}
	return p.choose(t).plan(&p, t)
}

// Direct reports whether every kernel can take operands with these strides. A
// problem that is not direct is carried by the plain kernel, which is slow:
// large operands are better copied first.
func (p *Problem) Direct() bool {
	return p.across(p.A, p.M, p.K) >= 0 && p.across(p.B, p.K, p.N) >= 0
}

// across returns 0 if the strides are contiguous along columns, 1 if along
// rows, -1 if along neither.
func (p *Problem) across(s Strides, rows, cols int) int {
	switch {
	case cols == 1 && rows > 1 && s.Row == 1:
		return 1
	case cols == 1 || s.Col == 1:
		return 0
	case rows == 1 || s.Row == 1:
		return 1
	}
	return -1
}

// maxElements is what kernels can index: SPIR-V reads 32-bit indices as signed.
const maxElements = 1<<31 - 1

func (p *Problem) check(t *Target) error {
	if min(p.M, p.N, p.K, p.Batch) < 1 {
		panic("BUG: product with an empty dimension")
	}
	for _, n := range []int{p.extent(p.A, p.M, p.K), p.extent(p.B, p.K, p.N), p.Batch * p.M * p.N} {
		if n > maxElements {
			return fmt.Errorf("%w: an operand spans %d elements", ErrTooLarge, n)
		}
		if bytes := int64(n) * int64(p.Type.Size()); t.MaxBinding > 0 && !t.Addresses && bytes > t.MaxBinding {
			return fmt.Errorf("%w: an operand takes %d bytes, the device binds at most %d", ErrUnbound, bytes, t.MaxBinding)
		}
	}
	return nil
}

// extent is how many elements an operand spans.
func (p *Problem) extent(s Strides, rows, cols int) int {
	return (rows-1)*s.Row + (cols-1)*s.Col + (p.Batch-1)*s.Batch + 1
}

// vector returns the elements in the 16 bytes that tiles load at once.
func (p *Problem) vector() int { return 16 / p.Type.Size() }

// shader returns the variant of a kernel for the type and the memory mode.
func (p *Problem) shader(name string, t *Target) string {
	elem := map[ops.DType]string{ops.F32: "f32", ops.F64: "f64", ops.S32: "u32",
		ops.U32: "u32", ops.S64: "u64", ops.U64: "u64"}[p.Type]
	if elem == "" {
		panic("BUG: product of " + p.Type.String())
	}
	return name + "." + elem + "." + t.mode()
}

// mode is how kernels reach buffers.
func (t *Target) mode() string {
	if t.Addresses {
		return "addresses"
	}
	return "bindings"
}

// flops counts a multiplication and an addition for each product.
func (p *Problem) flops() int64 {
	return 2 * int64(p.M) * int64(p.N) * int64(p.K) * int64(p.Batch)
}

// bytes counts each operand and the result once.
func (p *Problem) bytes() int64 {
	operand := p.Type.Size()
	if p.Operands != ops.Invalid {
		operand = p.Operands.Size()
	}
	per := (p.M*p.K+p.K*p.N)*operand + p.M*p.N*p.Type.Size()
	return int64(p.Batch) * int64(per)
}

// Transposed is the problem whose result is the transpose of p's.
func (p *Problem) Transposed() Problem {
	q := *p
	q.M, q.N = p.N, p.M
	q.A = Strides{Row: p.B.Col, Col: p.B.Row, Batch: p.B.Batch}
	q.B = Strides{Row: p.A.Col, Col: p.A.Row, Batch: p.A.Batch}
	return q
}
