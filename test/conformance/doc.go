// Package conformance runs the table on a device and on the host and compares:
// every operation, type and class of shapes, with special values. The host path
// is the oracle; other tests compare it with Nx.
package conformance
