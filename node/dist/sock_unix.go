//go:build unix

package dist

import (
	"net"
	"runtime"
	"syscall"
)

// sendMore is the flag with which Linux leaves bytes for the packet of the
// next write.
const sendMore = 0x8000

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

// write writes what of the parts fits into the socket's buffer now and returns
// how much that was. Errors are left to the next ordinary write.
func (s *rawSocket) write(parts [][]byte) int {
	written := 0
	// Saying "done" whatever happened is what keeps it from waiting.
	s.conn.Write(func(fd uintptr) bool {
		for i, p := range parts {
			flags := 0
			if i+1 < len(parts) && runtime.GOOS == "linux" {
				flags = sendMore
			}
			n, err := syscall.SendmsgN(int(fd), p, nil, nil, flags)
			if err != nil {
				break
			}
			if written += n; n < len(p) {
				break
			}
		}
		return true
	})
	return written
}
