// Package scan lowers cumulative operations along an axis. It is the three-pass
// scan of Blelloch (Prefix sums and their applications, 1990): totals of chunks, a
// scan of these, and the chunks with the totals before them. Within a tile a
// workgroup scans by doubling (Hillis and Steele, 1986).
//
// The order of floating-point operations depends on the shape and the profile of
// the device only. The cost is two reads and one write of the operand.
package scan
