// Package gate holds what a socket passes on its way to becoming a connection.
//
// A Gate counts those that are on the way, and once it is shut lets nobody in. Pending
// bounds those that have not introduced themselves: a new one takes the place of the
// oldest.
//
// The package refuses to know the handshake.
package gate
