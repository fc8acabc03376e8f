// Package handshake introduces two nodes to each other and has each prove that it knows
// the cookie.
//
// It is the handshake of the Erlang documentation, "Distribution Protocol", version 6,
// and version 5 where a peer begins with that. Each side poses a challenge, a random
// number; the answer is MD5 of the cookie and the challenge. Nothing that a peer says
// before its proof has a consequence. A peer that reflects a challenge, to have this
// node answer it, is refused: see Challenges. A handshake costs two round trips.
//
// The package refuses to know connections: its callers say whether a name may connect.
package handshake
