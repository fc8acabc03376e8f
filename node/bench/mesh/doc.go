// Package mesh measures several devices of a machine: values that move between them, collectives, and a step of
// training that is divided over them, each beside what one device does alone in the same run.
//
// Each device has an executor on a goroutine of its own, as a device server has. Nothing goes through Erlang. The
// package does not judge the numbers. Start reading at Measure.
package mesh
