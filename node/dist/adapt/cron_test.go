package adapt

import (
	"testing"
	"time"
)

func TestUntilMinute(t *testing.T) {
	minute := time.Date(2024, 2, 29, 23, 59, 0, 0, time.UTC)
	for _, c := range []struct{ after, want time.Duration }{
		{0, 0}, {time.Second, 0}, {time.Minute - cronMargin, 0},
		{time.Minute - cronMargin/2, cronMargin / 2}, {time.Minute - 1, 1},
	} {
		if got := untilMinute(minute.Add(c.after)); got != c.want {
			t.Errorf("%v after the minute: waits for %v, want %v", c.after, got, c.want)
		}
	}
}
