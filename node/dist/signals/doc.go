// Package signals keeps the monitors and links of one connection, in both directions.
//
// A monitor is incoming where a process of the peer monitors one of ours, and outgoing
// where one of ours monitors one of the peer's. A target is a gen.PID or a
// gen.ProcessID, a registered name.
//
// Ergo tells a connection once that a local process has ended, whoever of the peer
// monitors or is linked to it: the process is reported. The Table says when Ergo has to
// be asked for that, and knows who is to be told then. Setting up a monitor, removing
// it and telling of an end take constant time for each monitor and link.
//
// The package refuses to know messages: it says whom to tell, not how.
package signals
