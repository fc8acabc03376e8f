// Package store keeps the values of clients: the session and the id of each value, its
// memory, and the number of bytes that each session holds. A session belongs to one
// process. When the session ends, its values are freed, except those that another
// session has imported.
//
// The package refuses to know how values are computed. It is not safe for
// concurrent use: the device server owns it.
package store
