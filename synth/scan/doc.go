// Package scan lowers cumulative operations along an axis. Short lines share a workgroup, which
// scans them by doubling (Hillis and Steele, 1986): one read and one write of the operand. Where
// lines are long and many, a workgroup walks each, at the same cost. Few long lines take the
// three-pass scan of Blelloch (Prefix sums and their applications, 1990): totals of chunks, a
// scan of these, and the chunks with the totals before them, at two reads and one write.
//
// The order of floating-point operations depends on the shape and the profile of
// the device only.
package scan
