//go:build unix

package socket

import (
	"net"
	"runtime"
	"syscall"
)

// sendMore is MSG_MORE, with which Linux leaves bytes for the packet of the next write.
const sendMore = 0x8000

// TryWriter writes to a socket without ever waiting for it.
type TryWriter struct {
	conn syscall.RawConn
}

// NewTryWriter returns nil for connections that are no plain sockets.
func NewTryWriter(c net.Conn) *TryWriter {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	conn, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return &TryWriter{conn: conn}
}

// TryWrite writes as much of the parts as the socket's buffer takes and returns how
// many bytes that are. It leaves errors to the next ordinary write.
func (w *TryWriter) TryWrite(parts [][]byte) int {
	written := 0
	// The function returns true whatever happens, so that conn does not wait.
	w.conn.Write(func(fd uintptr) bool {
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
