// Package epmd is the Erlang port mapper: the client that registers a node and
// looks others up, and a server for machines where no epmd runs.
//
// It refuses to know what a node does once it is found. A registration lives as long as
// the connection that made it, so a node that dies leaves nothing behind.
//
// Start with Keeper: a node runs one.
package epmd
