// Package mailbox is the queue of messages of a device server. The goroutine that puts a message into an idle
// mailbox handles it, and those that arrive meanwhile; a message to a busy one costs a lock and an append. So
// messages are handled one at a time, in order, and no goroutine is woken for them.
//
// The package does not know what messages mean, but that a function is called. Start reading at Mailbox.
package mailbox
