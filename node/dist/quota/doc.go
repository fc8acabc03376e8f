// Package quota bounds the memory that peers have this node hold, and counts what
// each connection holds.
//
// An Account belongs to a connection. It is charged for messages that arrive in
// pieces, for decoded terms until their message has been handled, for what the peer
// has yet to read, and for its monitors and links. All accounts draw on one Budget,
// in steps, so that a short message costs two additions and no lock.
//
// The package refuses to know messages, terms and sockets.
package quota
