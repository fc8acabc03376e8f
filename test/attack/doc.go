// Package attack tries nxvk-node from outside, with a client of the distribution
// protocol that shares no code with it: peers that prove nothing, peers that have the
// cookie and send what is no message, and peers that have the node hold memory. In
// every case another peer's connection lives on, and is served.
package attack
