// Package bench has the measurements of nxvk-node bench. Wire and Share start a cluster: this
// program as a node, and BEAMs that talk to it and to each other. Nodes starts several nodes. The
// others use the executor that serves clients, in this process: Ops measures operations and
// programs, Sampler the No-U-Turn sampler, Crowd sessions that compete for the device, and
// Devices copies between devices. Cold, Starts and Beside run this program again for each round,
// so that nothing is compiled before.
//
// A measurement prints a table, or lines for benchstat (see Format). The package does not
// judge the numbers. Start reading at Ops.
package bench
