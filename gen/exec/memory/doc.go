// Package memory gives values their memory on the host, within a limit that all sessions of
// all devices share. A large binary that arrives gets memory that the device reads without a
// copy. Freed memory is kept for the next value of its size, 256 MiB at most, and goes back
// to the system when nothing has used it for some seconds.
//
// A Manager decides what becomes of a request for which there is no memory, on the device or on
// the host: what is pending is carried out, sessions are asked to free what they do not need,
// caches are dropped, each once, and then the request fails and names who holds most. It also
// holds the limits of sessions (Allows).
//
// The package refuses to know what values and queues are. Start reading at Host and Manager.
package memory
