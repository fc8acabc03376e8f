//go:build unix

package etf

import (
	"fmt"
	"syscall"
)

func mapMemory(n int) ([]byte, error) {
	mem, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", n, err)
	}
	adviseHuge(mem)
	return mem, nil
}

func unmapMemory(mem []byte) {
	if err := syscall.Munmap(mem); err != nil {
		panic("BUG: unmap: " + err.Error())
	}
}
