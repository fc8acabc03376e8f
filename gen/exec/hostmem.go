package exec

import (
	"fmt"

	"nxvk/gen/etf"
)

// large is from which size memory on the host is taken outside the Go heap.
const large = etf.LargeBinary

// pool holds freed host memory for the next value of the size.
var pool = etf.NewPool(256 << 20)

// hostMemory returns n bytes of memory with any contents. Large pieces lie
// outside the Go heap and are given back by release.
func hostMemory(n int) (data []byte, release func(), err error) {
	if n < large {
		return make([]byte, n), nil, nil
	}
	b, err := pool.Alloc(n)
	if err != nil {
		return nil, nil, fmt.Errorf("allocate %d bytes on the host: %w", n, err)
	}
	return b.Bytes()[:n], b.Free, nil
}
