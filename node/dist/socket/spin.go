package socket

import (
	"io"
	"net"
	"runtime"
	"time"
)

const (
	// spinTime is how long a reader tries again before it sleeps.
	spinTime = 50 * time.Microsecond
	// spinGap is the time between the last two arrivals up to which it does.
	spinGap = 100 * time.Microsecond
)

// SpinReader returns what reads from a socket for one goroutine: while data arrives in
// quick succession it tries again for spinTime before it sleeps. Over TLS, and where
// there is one processor or no way to try, that is the socket itself.
func SpinReader(sock net.Conn) io.Reader {
	tcp, ok := sock.(*net.TCPConn)
	if !ok || runtime.NumCPU() == 1 {
		return sock
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return sock
	}
	return newSpinReader(sock, raw)
}
