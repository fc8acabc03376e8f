package adapt

import "time"

// cronMargin is how long Ergo may take from reading the clock to setting the timer that its
// cron reads.
const cronMargin = 250 * time.Millisecond

// AwaitMinute waits for a full minute that is about to begin. A node whose start reads the
// clock just before one dies of it: Ergo's cron runs at full minutes, and its first run may
// come before the start has set the timer that the run resets.
func AwaitMinute() { time.Sleep(untilMinute(time.Now())) }

// untilMinute is how long a start that happens now has to wait.
func untilMinute(now time.Time) time.Duration {
	if left := now.Truncate(time.Minute).Add(time.Minute).Sub(now); left < cronMargin {
		return left
	}
	return 0
}
