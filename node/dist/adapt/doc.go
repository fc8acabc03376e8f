// Package adapt has what Ergo asks of its network and a BEAM cluster does not have, and
// orders what Ergo leaves unordered.
//
// A Registrar resolves no names: nodes of this package connect by themselves or are
// told to. A Connection refuses what only Ergo nodes can ask of each other. AwaitMinute
// keeps Ergo's cron from running before the node's start has made it, OrderCron keeps the
// race detector quiet about it.
package adapt
