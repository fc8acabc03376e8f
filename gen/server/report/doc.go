// Package report publishes snapshots of the device servers of a node, for info, metrics and readiness, so that
// a reader never waits for a busy server. A server takes a snapshot when a reader asks, and after a message if
// the latest one is a second old. A reader waits half a second at most and then gets the latest one.
//
// Reporters are a prometheus.Collector. The package does not know how a server works: it has a function that
// takes a snapshot, and the mailbox, which tells for how long the server has been busy. Start reading at
// Reporter.
package report
