package node

import (
	"syscall"
	"unsafe"
)

// memoryStatus is MEMORYSTATUSEX of the Windows API.
type memoryStatus struct {
	length, load               uint32
	totalPhys, availPhys       uint64
	totalPageFile, availPage   uint64
	totalVirtual, availVirtual uint64
	availExtendedVirtual       uint64
}

// physicalMemory returns the bytes of memory of the machine, 0 where nobody says.
func physicalMemory() uint64 {
	proc := syscall.NewLazyDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if proc.Find() != nil {
		return 0
	}
	m := memoryStatus{}
	m.length = uint32(unsafe.Sizeof(m))
	if ok, _, _ := proc.Call(uintptr(unsafe.Pointer(&m))); ok == 0 {
		return 0
	}
	return m.totalPhys
}
