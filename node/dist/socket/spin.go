package socket

import (
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// spinTime is how long a reader tries again before it waits.
	spinTime = 50 * time.Microsecond
	// spinGap is the time between the last two arrivals up to which it does.
	spinGap = 100 * time.Microsecond
	// answerSpin is spinTime after an answer: the client that waited for it sends its next
	// message when it has been woken.
	answerSpin = 100 * time.Microsecond
	// answerWait is the time from the last answer to the message after it up to which the
	// reader spins after an answer.
	answerWait = 200 * time.Microsecond
	// pollTime is how long a reader's thread then waits for the socket itself. The kernel
	// wakes that thread at once. A goroutine in the runtime's poller is woken by way of
	// another thread, which may have to be woken first.
	pollTime = 2 * time.Millisecond
	// pollGap is the time between the last two arrivals up to which it does, so that a
	// connection takes a thread only while data arrives.
	pollGap = 2 * time.Millisecond
)

// SpinReader returns what reads from a socket for one goroutine: while data arrives in
// quick succession it tries again for spinTime, and then its thread waits for pollTime,
// before it sleeps. Closing the socket and its deadlines take effect after that. It spins
// longer where sent, what the connection has sent, has changed since the last message came:
// that was answered. Over TLS, and where there is one processor or no way to try, the
// reader is the socket itself.
func SpinReader(sock net.Conn, sent *atomic.Uint64) io.Reader {
	tcp, ok := sock.(*net.TCPConn)
	if !ok || runtime.NumCPU() == 1 {
		return sock
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return sock
	}
	return newSpinReader(sock, raw, sent)
}
