// Package queue says whose turn it is among the queues of sessions, and why a queue waits.
//
// A queue is served for half a millisecond, and then others have their turn, whatever else
// it has in hand. Queues that have more wait, and the one that has been served least, by its
// weight, goes on first: start-time fair queueing (Goyal, Vin and Cheng, 1996), as in
// fallback/sched. A turn costs a look at the clock every 16 steps.
//
// InSlices is for work on the same goroutine that no queue stands for, such as asking for the
// plans of thousands of fusions. A Deque is what a queue holds its requests in.
//
// The package refuses to know what the queues hold. Start reading at Turns.
package queue
