//go:build !unix

package etf

// Without mmap the blocks are plain slices, pooled all the same.
func mapMemory(n int) ([]byte, error) { return make([]byte, n), nil }

func unmapMemory([]byte) {}
