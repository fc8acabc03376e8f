package codegen

import (
	"encoding/binary"
	"slices"

	"nxvk/synth/lowering"
)

// ArchiveHead is the number of words before the specialisation constants and the code
// of an archived kernel; the last of them is the number of these constants.
const ArchiveHead = 8

// FromArchive is the archived kernel of a key, or nil. It has no IR, so a dump of
// kernels compiles them instead.
func FromArchive(t *lowering.Target, key string) *lowering.Kernel {
	if t.Archive == nil || dumpKernels || dumpSPIRV {
		return nil
	}
	return DecodeKernel(t.Archive.Get("kernel " + key))
}

// ToArchive archives a kernel.
func ToArchive(t *lowering.Target, key string, k *lowering.Kernel) {
	if t.Archive != nil {
		t.Archive.Put("kernel "+key, encodeKernel(k))
	}
}

func encodeKernel(k *lowering.Kernel) []byte {
	addresses := uint32(0)
	if k.Addresses {
		addresses = 1
	}
	head := [ArchiveHead]uint32{uint32(k.Buffers), uint32(k.PushBytes), addresses, k.Local[0], k.Local[1], k.Local[2],
		uint32(k.SubgroupSize), uint32(len(k.Spec))}
	return CodeBytes(slices.Concat(head[:], k.Spec, k.Code))
}

// DecodeKernel decodes the result of encodeKernel; it returns nil for other data. The
// name of the kernel is the hash of its code.
func DecodeKernel(data []byte) *lowering.Kernel {
	if len(data) < 4*ArchiveHead || len(data)%4 != 0 {
		return nil
	}
	words := make([]uint32, len(data)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	w, rest := words[:ArchiveHead], words[ArchiveHead:]
	specs := uint64(w[ArchiveHead-1])
	if specs > uint64(len(rest)) {
		return nil
	}
	k := &lowering.Kernel{Code: rest[specs:], Buffers: int(w[0]), PushBytes: int(w[1]), Addresses: w[2] != 0,
		Local: [3]uint32{w[3], w[4], w[5]}, SubgroupSize: int(w[6])}
	if specs > 0 {
		k.Spec = rest[:specs:specs]
	}
	k.Name = HashName(k.Code)
	return k
}
