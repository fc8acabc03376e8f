// Package server has the gen_servers that BEAM nodes talk to: one for each
// device and the manager of the node. A callback decodes, hands on to package
// exec, and encodes; gen/README.md is the protocol.
//
// A request that fails is a reply. A callback never returns an error, which
// would end the actor, and never waits for the device: completions come back
// as messages.
package server
