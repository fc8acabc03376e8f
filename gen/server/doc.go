// Package server has the gen_servers that BEAM nodes talk to: Device, one for each device,
// and Manager, one for the node. The goroutine that brings a message decodes it (package
// wire); a server calls package exec and encodes the reply. gen/README.md describes the messages.
//
// A device server handles one message at a time, on the goroutine that brings it, and so
// needs no lock. It never waits for the device: completions come back as messages. A request
// that fails gets an error as its reply, and a panic ends only the message. Package
// report publishes snapshots of the server, so metrics and info never wait for it. The package does
// not know how a value is computed. Start reading at Device.handle.
package server
