// Package node is the membership of this process in a BEAM cluster, and its
// lifetime: it opens the devices, starts the servers of package server,
// registers the name, serves until it is told to stop, and drains.
package node
