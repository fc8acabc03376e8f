//go:build unix

package dist

import (
	"net"
	"syscall"
)

// poker writes to a socket without ever waiting for it.
type poker struct {
	raw syscall.RawConn
}

// newPoker returns nil for connections that are no plain sockets.
func newPoker(c net.Conn) *poker {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return &poker{raw: raw}
}

// write writes what fits into the socket's buffer now and returns how much
// that was. Errors are left to the next ordinary write.
func (p *poker) write(b []byte) int {
	written := 0
	// Saying "done" whatever happened is what keeps it from waiting.
	p.raw.Write(func(fd uintptr) bool {
		if n, err := syscall.Write(int(fd), b); err == nil {
			written = n
		}
		return true
	})
	return written
}
