package synth

import (
	"encoding/binary"
	"slices"
)

// Archive keeps what compiling gave from one life of the process to the next. It
// may forget, but gives under a key only what was put there by the same build of
// this package. Its methods may be called from any goroutine.
type Archive interface {
	Get(key string) []byte // nil where there is nothing
	Put(key string, data []byte)
}

// An archived kernel is eight words, as many specialisation constants as the last of
// them says, and its code.
const archiveHead = 8

// archived is the kernel of that key as an earlier life compiled it, or nil. It
// has no IR; who wants that shown has it compiled.
func (t *Target) archived(key string) *Kernel {
	if t.Archive == nil || dumpKernels || dumpSPIRV {
		return nil
	}
	return decodeKernel(t.Archive.Get("kernel " + key))
}

// keep archives a kernel.
func (t *Target) keep(key string, k *Kernel) {
	if t.Archive != nil {
		t.Archive.Put("kernel "+key, encodeKernel(k))
	}
}

func encodeKernel(k *Kernel) []byte {
	addresses := uint32(0)
	if k.Addresses {
		addresses = 1
	}
	head := [archiveHead]uint32{uint32(k.Buffers), uint32(k.PushBytes), addresses, k.Local[0], k.Local[1], k.Local[2],
		uint32(k.Lanes), uint32(len(k.Spec))}
	return codeBytes(slices.Concat(head[:], k.Spec, k.Code))
}

// decodeKernel reads what encodeKernel wrote; nil where it cannot be that. Its name
// is that of its code.
func decodeKernel(data []byte) *Kernel {
	if len(data) < 4*archiveHead || len(data)%4 != 0 {
		return nil
	}
	words := make([]uint32, len(data)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	w, rest := words[:archiveHead], words[archiveHead:]
	specs := uint64(w[archiveHead-1])
	if specs > uint64(len(rest)) {
		return nil
	}
	k := &Kernel{Code: rest[specs:], Buffers: int(w[0]), PushBytes: int(w[1]), Addresses: w[2] != 0,
		Local: [3]uint32{w[3], w[4], w[5]}, Lanes: int(w[6])}
	if specs > 0 {
		k.Spec = rest[:specs:specs]
	}
	k.Name = contentName(k.Code)
	return k
}
