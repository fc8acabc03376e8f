// Package dist makes an Ergo node a hidden node of a BEAM cluster: it speaks the Erlang
// distribution protocol, OTP 25 and later, and gives its connections to Ergo's network
// stack.
//
// It refuses to know what messages mean: it carries terms, signals and large binaries
// between BEAM nodes and Ergo processes. Tensors, devices and sessions are other
// packages' words.
//
// # Packages
//
//	handshake  names, capabilities, challenges: two nodes prove that they know the cookie
//	packet     the stream: packets, fragments, atom cache, large binaries, both ways
//	control    control messages: what a message is and whom it is for
//	signals    the table of monitors and links
//	inbox      who handles a message, and who reads on meanwhile
//	quota      the memory that a peer may have this node hold
//	gate       sockets on their way to becoming connections
//	socket     spinning reads, writes that never wait, TLS
//	adapt      what Ergo asks for and a BEAM cluster does not have
//
// This package joins them: Node listens, dials and stops; Connection is a connection
// after the handshake.
//
// # The life of a connection
//
// A Node owns its listener. Each accepted socket gets a goroutine and a deadline, passes
// the accept gate and does the handshake (listener.go). Connect dials and does the other
// half (connect.go). A message of an unproven peer changes nothing. The connection is
// adopted into Ergo's table (adopt.go) before the peer is told that it is connected.
// From there Ergo's processes send to it and monitor through it.
//
//	socket ── handshake ── adopt ── Connection ┬─ reader: packets → terms → actors
//	                                           ├─ writer: queue → gathering writes
//	                                           └─ ticker: keeps alive, detects death
//
// The reader never waits for an actor. Where it handles a message itself (Node.Direct)
// and that takes long, another goroutine reads on.
//
// # Bounds
//
// Mailboxes are unbounded. The memory that a peer can make this node hold is bounded: by
// the allocator of large binaries, and by the account of its connection. The account
// pays for messages in assembly, for terms until they are Handled, for replies, monitors
// and links. A message that would go beyond Options.MaxHeld, or beyond what
// Options.Budget has left, is dropped as it comes in. The process that it is for gets
// Refused, so that it can answer a call. A peer that goes beyond them with monitors or
// links, with a message whose sender cannot be told, or with many messages that do not
// end, is cut off. Nobody says when a process with a mailbox of Ergo's has handled a
// message; such a message is charged until it is there.
//
// Senders never wait, neither for the writer nor for a connection. A message that an
// actor originates is refused with ErrBusy once Options.MaxQueue bytes wait. A peer for
// whom as many bytes of replies wait, large binaries apart, is cut off. To send to a
// node that is not connected is an error.
//
// # The end
//
// A node that stops shuts its gate and has its processes end. Then it drains (drain.go):
// once peers have been told of all those ends, the connections go too. A connection that
// this node ends writes what waits and then says that nothing more comes. It is closed
// when the peer has closed its side, or after two seconds.
//
// # What actors see
//
// HandleMessage gets one of Call, Cast, Message and Refused (message.go), with pids in
// gen.PID where the envelope has them and etf.Pid inside terms. An actor answers a Call
// by sending its Reply to Call.From. It monitors with Node.Monitor. Ergo's own
// process.MonitorPID works as well, but keeps an entry for each target until
// DemonitorPID is called, and loses one of several watchers of a target when another one
// demonitors.
package dist
