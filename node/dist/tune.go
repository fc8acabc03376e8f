package dist

import (
	"crypto/tls"
	"net"
)

// localBuffer is how much of what is written to a peer on this machine waits
// in the kernel. There is no distance to bridge, and what waits longer leaves
// the processor's cache before the peer reads it: 64 MB arrive twice as fast
// as with the megabytes that the kernel would take.
const localBuffer = 256 << 10

// tune prepares the socket of a connection. That a socket refuses costs speed
// alone.
func tune(sock net.Conn) {
	if secure, ok := sock.(*tls.Conn); ok {
		sock = secure.NetConn()
	}
	tcp, ok := sock.(*net.TCPConn)
	if !ok {
		return
	}
	tcp.SetNoDelay(true)
	if isLocal(tcp.LocalAddr(), tcp.RemoteAddr()) {
		tcp.SetWriteBuffer(localBuffer)
	}
}

// isLocal reports whether both ends of a connection are on this machine.
func isLocal(here, there net.Addr) bool {
	a, ok := here.(*net.TCPAddr)
	b, ok2 := there.(*net.TCPAddr)
	return ok && ok2 && (b.IP.IsLoopback() || a.IP.Equal(b.IP))
}
