//go:build darwin || dragonfly || freebsd || netbsd

package node

import (
	"encoding/binary"
	"runtime"
	"syscall"
)

// physicalMemory returns the bytes of memory of the machine, 0 where nobody says.
func physicalMemory() uint64 {
	name := "hw.physmem"
	switch runtime.GOOS {
	case "darwin":
		name = "hw.memsize"
	case "netbsd":
		name = "hw.physmem64"
	}
	s, err := syscall.Sysctl(name)
	if err != nil || len(s) > 8 {
		return 0
	}
	// Sysctl takes the number for text and cuts a zero off its end.
	var b [8]byte
	copy(b[:], s)
	return binary.NativeEndian.Uint64(b[:])
}
