package dist

import (
	"io"
	"net"
	"runtime"
	"time"
)

const (
	// lookFor is how long a reader looks for what comes next before it sleeps. To be
	// woken takes longer than most answers do, and costs the sender as well: calls
	// take half the time. The schedulers of a BEAM do the same.
	lookFor = 50 * time.Microsecond
	// dense is how soon after the last read a reader has to read again to be worth it.
	dense = 100 * time.Microsecond
)

// lookout returns what reads from a socket. Over TLS, and where there is but one
// processor or no way to try, that is the socket itself.
func lookout(sock net.Conn) io.Reader {
	tcp, ok := sock.(*net.TCPConn)
	if !ok || runtime.NumCPU() == 1 {
		return sock
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return sock
	}
	return newTrying(sock, raw)
}
