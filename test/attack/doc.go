// Package attack attacks nxvk-node from outside, with a client of the distribution
// protocol that shares no code with it. Some peers do not prove that they know the cookie.
// Some know it and send malformed messages, messages in the name of other nodes, or
// messages that take too much memory. In every case another peer's connection lives on,
// and the node serves it.
package attack
