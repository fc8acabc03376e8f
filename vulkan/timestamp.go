package vulkan

import (
	"fmt"

	"nxvk/vulkan/vk"
)

// MaxTimestamps is the largest number of timestamps in one submission.
const MaxTimestamps = vk.MaxQueries

// Timestamp records that the device reads its clock when all commands before are complete.
// When the submission is complete, dst has the 8 bytes of the time: a little-endian count of
// Limits.TimestampPeriod nanoseconds. dst.Offset is a multiple of 8.
func (s *Stream) Timestamp(dst Arg) error {
	if err := dst.Buffer.check(dst.Offset, 8); err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	switch {
	case s.apart:
		return fmt.Errorf("timestamp: %w: a stream of CopyStream only copies", ErrInvalid)
	case !s.d.dev.Info.Features.Timestamps:
		return fmt.Errorf("timestamp: %w: the device has none", ErrInvalid)
	case dst.Offset%8 != 0 || len(s.timestamps) == MaxTimestamps:
		return fmt.Errorf("timestamp: %w: number %d, at %d", ErrInvalid, len(s.timestamps), dst.Offset)
	}
	c := s.command(vk.OpTimestamp, nil)
	c.X = uint32(len(s.timestamps))
	dst.Size, dst.Access = 8, Write
	s.timestamps = append(s.timestamps, dst)
	return nil
}

// copyTimestamps ends a batch: timestamps are copied to their buffers last, so that the copies
// are not part of the measured time.
func (s *Stream) copyTimestamps() {
	for i := range s.timestamps {
		dst := s.timestamps[i]
		c := s.command(vk.OpQueryResult, []Arg{dst})
		b, off := dst.Buffer.r.Buffer()
		c.X, c.B, c.D = uint32(i), uint64(b), off+uint64(dst.Offset)
	}
}
