// Package inbox hands messages from the goroutines that read connections to whoever
// handles them.
//
// A message goes to an Inbox, a mailbox that says whether somebody is at work on it.
// Where nobody is, the goroutine that has read the message handles it: to wake another
// one takes longer than most messages do. A Leader keeps that from holding up what
// comes behind: where handling takes long, it has another goroutine read on. This is
// the Leader/Followers pattern (Schmidt, O'Ryan, Pyarali, Kircher, Buschmann: PLoP
// 2000) with a late promotion. A Directory knows which process has which inbox.
//
// The gain: a call of 150 bytes over loopback, on two idle processors, takes 34 µs
// (median) if the goroutine that has read it handles it, and 130 µs if it wakes another
// one; the node uses 42 and 168 µs of processor time. Without a SpinReader the processor
// time was 62 and 78 µs. nxvk-node bench wire measures such calls.
//
// The package refuses to know what messages are and how they arrive.
package inbox
