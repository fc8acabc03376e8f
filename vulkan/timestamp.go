package vulkan

import (
	"fmt"

	"nxvk/vulkan/vk"
)

// MaxTimestamps is how many timestamps one submission takes.
const MaxTimestamps = vk.MaxQueries

// Timestamp records that the device notes its clock when all before is done.
// The 8 bytes, a little-endian count of Limits.TimestampPeriod nanoseconds, are
// in dst when the submission is complete; dst.Offset is a multiple of 8.
func (s *Stream) Timestamp(dst Arg) error {
	if err := dst.Buffer.check(dst.Offset, 8); err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	switch {
	case !s.d.info.Features.Timestamps:
		return fmt.Errorf("timestamp: %w: the device has none", ErrInvalid)
	case dst.Offset%8 != 0 || len(s.stamps) == MaxTimestamps:
		return fmt.Errorf("timestamp: %w: number %d, at %d", ErrInvalid, len(s.stamps), dst.Offset)
	}
	c := s.command(vk.OpTimestamp, nil)
	c.X = uint32(len(s.stamps))
	dst.Size, dst.Access = 8, Write
	s.stamps = append(s.stamps, dst)
	return nil
}

// writeTimestamps ends a batch: results are copied last, so that the copies
// take no part in what is measured.
func (s *Stream) writeTimestamps() {
	for i := range s.stamps {
		dst := s.stamps[i]
		c := s.command(vk.OpQueryResult, []Arg{dst})
		c.X, c.B, c.D = uint32(i), uint64(dst.Buffer.r.blk.buffer), dst.Buffer.r.off+uint64(dst.Offset)
	}
}
