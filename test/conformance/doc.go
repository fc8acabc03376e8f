// Package conformance runs the table on a device and on the host and compares:
// every operation, type and class of shapes, with values that matter. The host
// path is the oracle; what it should say is checked against Nx elsewhere.
package conformance
