//go:build unix

package dist

import (
	"net"
	"syscall"
)

// rawSocket writes to a socket without ever waiting for it.
type rawSocket struct {
	conn syscall.RawConn
}

// newRawSocket returns nil for connections that are no plain sockets.
func newRawSocket(c net.Conn) *rawSocket {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	conn, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return &rawSocket{conn: conn}
}

// write writes what fits into the socket's buffer now and returns how much
// that was. Errors are left to the next ordinary write.
func (s *rawSocket) write(p []byte) int {
	written := 0
	// Saying "done" whatever happened is what keeps it from waiting.
	s.conn.Write(func(fd uintptr) bool {
		if n, err := syscall.Write(int(fd), p); err == nil {
			written = n
		}
		return true
	})
	return written
}
