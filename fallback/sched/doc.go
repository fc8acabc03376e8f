// Package sched shares the processors of the machine among computations that
// clients have asked for. A Pool has as many slots as there are processors; a
// computation holds one while it runs. Slots go to the account that has used least
// processor time: start-time fair queueing (Goyal, Vin and Cheng, 1996), with the
// session as the flow and a slice of about a millisecond as the packet. So an
// account that asks for little is served at once, and accounts that compute without
// pause have shares in proportion to their weights, which are equal by default.
//
// A computation that is started here is recovered from a panic, counted while it
// runs, and cancelled with its account. It gives up its slot between slices, in
// Worker.Yield, where it also learns that it was cancelled. One that computes for
// long without a call of Yield does not keep others waiting: after a while another
// slot stands in for the one that it holds, and the system shares the processors.
//
// The package does not know what its tasks compute. Start reading at Account.Start.
package sched
