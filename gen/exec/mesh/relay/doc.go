// Package relay passes the operands and results of small collectives between kernels that run: each device sends its words to the
// host and looks for those of the result, and the host answers all of them once it has the words of all. So a collective takes one
// kernel of each rank, which has its place among the others of its session, and no submission.
//
// A Port is the memory between one device and the host, and what the device does there is shaders/relay.comp. Each word goes with the
// number of its turn, in eight bytes that arrive at once. A device carries out the turns of its port in their order,
// so a port has room for one: whoever sends the next one has the result of the one before.
//
// A Turn is a collective of some ports. It comes to be answered when it is the first one of all its ports. One goroutine answers
// the turns of a Relay. It polls while there are some, since a device cannot call it.
//
// A device waits in vain where another one does not get to the collective. A Turn that ends without a result ends on all devices, which
// then go on with what was in memory: whoever reads the result has to know (Turn.Answered).
//
// The package refuses to know devices, ranks and types. Start reading at Relay.Begin.
package relay
