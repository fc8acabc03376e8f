// Package attack attacks nxvk-node from outside, with a client of the distribution
// protocol that shares no code with it. Some peers do not prove that they know the cookie.
// Some know it and send malformed messages, messages in the name of other nodes, requests of
// every kind with terms in them that no client sends, or what takes too much memory. In every
// case another peer's connection lives on, and the node serves it.
package attack
