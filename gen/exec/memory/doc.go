// Package memory gives values their memory on the host, within a limit that all sessions of
// all devices share, and large binaries that arrive a place that the device reads without a
// copy. What is freed is kept for the next value of the size, 256 MiB at most, and goes back
// to the system when nothing has used it for some seconds.
//
// The package refuses to know sessions and what values are. Start reading at Host.
package memory
