package exec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"nxvk/ops"
	"nxvk/test/fewtest"
	"nxvk/vulkan"
)

// exchanged is how many bytes the devices of a fleet have moved through memory that they share.
func (f *fleet) exchanged() (n uint64) {
	for _, r := range f.rigs {
		n += r.exec.Counters().Exchanged
	}
	return n
}

// exchanging is a fleet of devices that share memory of the host.
func exchanging(t *testing.T, kinds string) *fleet {
	f := newFleet(t, strings.Fields(kinds)...)
	if !f.rigs[0].exec.core.dev.Info().Features.HostImport {
		t.Skip("the device imports no memory of the host")
	}
	for _, r := range f.rigs {
		r.exec.sharing.exchanges = true
	}
	return f
}

// drawLarge is a case whose operands the devices exchange over shared memory: more than 64 KiB, with parts that
// begin where kernels can. Every third one is an odd number of elements.
func drawLarge(rng *rand.Rand, ranks int) collectiveCase {
	for {
		c := drawCollective(rng, ranks, 5*256*8*(8+rng.IntN(100)))
		if len(c.groups[0]) > 1 && c.t.Bytes() > 64<<10 {
			return c
		}
	}
}

// TestShared: collectives of devices that share memory give what the definitions say, for all types, operators and
// groups, and leave nothing behind.
func TestShared(t *testing.T) {
	for _, kinds := range []string{"device device", "GPU device", "GPU device device GPU"} {
		t.Run(kinds, func(t *testing.T) {
			f := exchanging(t, kinds)
			rng := rand.New(rand.NewPCG(17, 21))
			used := make(carried)
			for i := range 16 {
				c := drawLarge(rng, len(f.rigs))
				before := f.exchanged()
				f.carryOut(rng, i, &c)
				if f.exchanged() > before {
					used[c.op]++
				}
			}
			used.wantAll(t, "over shared memory")
			f.endEmpty()
			for _, r := range f.rigs {
				r.Until(func() bool { return r.exec.core.dev.Stats().Buffers == 0 })
			}
		})
	}
}

// TestSharedBits: the devices add in the order of the group, with the bits of the host, wherever a chunk is divided.
func TestSharedBits(t *testing.T) {
	for _, kinds := range []string{"device device", "device GPU device"} {
		f := exchanging(t, kinds)
		rng := rand.New(rand.NewPCG(17, 22))
		for i, d := range []ops.DType{ops.F32, ops.F64, ops.BF16, ops.F16, ops.C64} {
			typ := ops.Type{DType: d, Shape: ops.Shape{100_003 + i}}
			operands := make([][]byte, len(f.rigs))
			for rank := range operands {
				v := make([]float64, typ.Size())
				for k := range v {
					v[k] = rng.NormFloat64() * 100
				}
				operands[rank] = cast(t, d, v)
			}
			host := newFleet(t, strings.Fields(strings.Repeat("host ", len(f.rigs)))...)
			var want []byte
			for _, side := range []*fleet{host, f} {
				for rank, r := range side.rigs {
					side.tensor(rank, 1, typ, operands[rank])
					r.Do(side.qs[rank], ops.AllReduce, 2, typ, [][]int{side.all(), {0}}, ref(1))
				}
				for rank, r := range side.rigs {
					got, err := r.bytesOf(side.qs[rank], 2)
					if err != nil {
						t.Fatal(err)
					}
					if want == nil {
						want = bytes.Clone(got)
					}
					if !bytes.Equal(got, want) {
						t.Errorf("%s: %v: rank %d has other bits than the host", kinds, typ, rank)
					}
					r.Do(side.qs[rank], ops.Free, 0, ops.Type{}, [][]int{{1, 2}})
				}
			}
		}
		if f.exchanged() == 0 {
			t.Error("nothing was exchanged over shared memory")
		}
	}
}

// TestSharedNot: where a device imports no memory of the host, or has its operand there, the host passes the chunks on.
func TestSharedNot(t *testing.T) {
	f := &fleet{T: t}
	f.rigs = newFleet(t, "device").rigs
	r := newRig(t, device(t, vulkan.Options{Fault: vulkan.Fault{NoImport: true}}))
	r.Posted = f.rigs[0].Posted
	f.rigs = append(f.rigs, r)
	r.exec.core.cfg.Meshes = f.rigs[0].exec.core.cfg.Meshes
	f.rigs[0].exec.sharing.exchanges, f.rigs[1].exec.sharing.exchanges = true, true // the second one finds out that it cannot
	f.open("two")
	rng := rand.New(rand.NewPCG(17, 23))
	for i := range 6 {
		c := drawLarge(rng, 2)
		f.carryOut(rng, i, &c)
	}
	if n := f.exchanged(); n != 0 {
		t.Errorf("%d bytes were exchanged over memory that one of the devices does not import", n)
	}
}

// TestSharedManyAtOnce: collectives of one group take turns, and those of other groups do not wait for them.
func TestSharedManyAtOnce(t *testing.T) {
	f := exchanging(t, "device device device device")
	typ := f32(70_000)
	const many = 12
	for rank, r := range f.rigs {
		q := f.qs[rank]
		for i := range ops.ID(many) {
			data := bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, typ.Size())
			f.tensor(rank, 2*i+1, typ, data)
			group := f.all()
			if i%3 > 0 {
				group = []int{rank &^ 1, rank | 1}
			}
			r.Do(q, ops.AllReduce, 2*i+2, typ, [][]int{group, {0}}, ref(2*i+1))
		}
	}
	for i := ops.ID(many - 1); i < many; i-- {
		want := float32(4)
		if i%3 > 0 {
			want = 2
		}
		for rank, r := range f.rigs {
			got, err := r.bytesOf(f.qs[rank], 2*i+2)
			if err != nil || f32At(got, 0) != want || f32At(got, typ.Size()-1) != want {
				t.Fatalf("collective %d of rank %d: %v", i, rank, err)
			}
		}
		if i == 0 {
			break
		}
	}
}

// TestSharedEnds: a rank that ends in any step of an exchange fails the others by its name, and the next exchange of
// the group has other memory.
func TestSharedEnds(t *testing.T) {
	for name, end := range collectiveEnds {
		t.Run(name, func(t *testing.T) {
			f := exchanging(t, "GPU device")
			rng := rand.New(rand.NewPCG(17, 24))
			for _, q := range f.qs {
				f.rigs[0].exec.End(q.Session)
			}
			for i := range 10 {
				if !fewtest.Step(i, 10) {
					continue
				}
				f.endAt(8*i+rng.IntN(8), rng, end)
				f.idle()
			}
			f.open(fmt.Sprint("after ", name))
			c := drawLarge(rng, 2)
			f.carryOut(rng, 99, &c)
			for _, r := range f.rigs {
				r.Settle(10 * time.Millisecond)
			}
		})
	}
}

// TestSharedLeaves: a session that ends as soon as it has its result leaves the others theirs, although their devices,
// and its own, are not done.
func TestSharedLeaves(t *testing.T) {
	f := exchanging(t, "GPU device GPU")
	rng := rand.New(rand.NewPCG(17, 25))
	for round := range 12 {
		for rank, q := range f.qs {
			f.rigs[rank].exec.End(q.Session)
		}
		f.open(fmt.Sprint("leaves ", round))
		typ := f32(40_000 + rng.IntN(800_000))
		one := bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, typ.Size())
		for rank, r := range f.rigs {
			f.tensor(rank, 1, typ, one)
			r.Do(f.qs[rank], ops.AllReduce, 2, typ, [][]int{f.all(), {0}}, ref(1))
		}
		gone := rng.IntN(len(f.rigs))
		told := false
		f.rigs[gone].exec.Describe(f.qs[gone], 2, func(_ ops.Type, err error) {
			if err != nil {
				t.Fatal(err)
			}
			told = true
		})
		f.rigs[gone].Until(func() bool { return told })
		f.rigs[gone].exec.End(f.qs[gone].Session)
		for rank, r := range f.rigs {
			if rank == gone {
				continue
			}
			got, err := r.bytesOf(f.qs[rank], 2)
			if err != nil || f32At(got, 0) != 3 || f32At(got, typ.Size()-1) != 3 {
				t.Fatalf("round %d: rank %d after rank %d has left: %v", round, rank, gone, err)
			}
		}
	}
	f.idle()
}
