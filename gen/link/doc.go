// Package link lets this node ask servers of other nodes of the cluster, over connections of its own: values move
// from node to node without the BEAM that asks for them.
//
// Links dials as a hidden node of its own name, with the cookie and the certificates of this node, so other nodes see
// a client like any BEAM. Large binaries arrive in memory that devices import (devcopy.Slots), as far as there is
// some. A Client is a process: it calls servers, and its sessions end with it. Value imports a value.
//
// While anything waits for a node, the link asks it for a sign of life. If the connection to a node ends, or nothing
// has come from it for Silence, everything that waits for it fails. So a node whose process is stopped, and whose
// connection stays, holds up nobody.
//
// The package refuses to know devices and how values are computed. Start reading at Links.Client, then Client.Call.
package link
