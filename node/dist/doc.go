// Package dist speaks the Erlang distribution protocol, OTP 25 and later, as
// a hidden node, and gives its connections to Ergo's network stack.
//
// It refuses to know what the messages mean: it carries terms, signals and
// large binaries between BEAM nodes and Ergo processes. Tensors, devices and
// sessions are other packages' words.
//
// # The life of a connection
//
// A Node owns its listener: each accepted socket gets its own goroutine, a
// deadline and the handshake of handshake.go. Connect dials and does the other
// half. What an unproven peer says changes nothing. The connection is adopted into
// Ergo's table (adopt.go) before the peer is told that it is connected, from where
// Ergo's processes send to it and monitor through it.
//
//	socket ── handshake ── adopt ── Connection ┬─ reader: frames → terms → actors
//	                                           ├─ writer: queue → gathering writes
//	                                           └─ ticker: keeps alive, detects death
//
// The reader never waits for an actor, and where it handles a message itself
// (Node.Direct), another goroutine reads on if that takes long. Mailboxes are
// unbounded, so what a peer can make this node hold is bounded by the allocator
// of large binaries and by its connection's account (account.go), not by flow
// control: messages in assembly, terms until they are Handled, replies, monitors
// and links are charged to it. A message that would go beyond Options.MaxHeld, or beyond
// what Options.Budget has left, is dropped as it comes in; the process that it is for gets
// Refused, so that it can answer a call. A peer that goes beyond them with monitors, links
// or messages whose sender cannot be told is cut off. A process with a mailbox of Ergo's does not say
// when it has handled a message; such a message is charged until it is there.
//
// Senders never wait for the writer: messages that actors originate are
// refused with ErrBusy once Options.MaxQueue bytes wait; a peer for whom as many
// bytes of replies wait, large binaries apart, is cut off. Nor do they wait for a
// connection: a send to a node that is not
// connected is an error.
//
// A node that stops lets nobody in any more (door.go) and has its processes end.
// When peers have been told of all those ends, the connections go too (closer.go).
// A connection that this node ends, because it stops or was told to disconnect,
// writes what waits and then says that nothing more comes. It is closed when the
// peer has closed its side, or after two seconds.
//
// # What actors see
//
// HandleMessage gets one of Call, Cast and Message (message.go), with pids in
// gen.PID where the envelope has them and etf.Pid inside terms. Answer a Call
// by sending its Reply to Call.From. Monitor with Node.Monitor; Ergo's own
// process.MonitorPID works as well, but keeps an entry for each target until
// DemonitorPID is called, and loses one of several watchers of a target when
// another one demonitors.
package dist
