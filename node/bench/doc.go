// Package bench measures: the wire against BEAM to BEAM, and the operations on
// a device, through the same executor that serves clients. It prints tables;
// what they should say is decided elsewhere.
package bench
