// Package node owns the life of nxvk-node in a BEAM cluster. Run checks the configuration,
// finds or creates the cookie, opens the devices, joins the network (package dist), starts a
// server for each device (package server), registers the name with epmd, and serves until it
// is told to stop. Then it drains: the actors end, their last messages are sent, and the
// devices are closed.
//
// The package also serves the metrics and bounds the host's memory: the limit of values, of
// connections and of Go's heap comes from the machine or its control group. It knows no
// message of the protocol and no operation. Start reading at Run.
package node
