package node

import (
	"fmt"
	"strings"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"
)

// ergoLog returns options with which Ergo logs through zerolog.
func ergoLog(log zerolog.Logger) gen.LogOptions {
	return gen.LogOptions{
		Level:         gen.LogLevelWarning,
		DefaultLogger: gen.DefaultLoggerOptions{Disable: true},
		Loggers:       []gen.Logger{{Name: "zerolog", Logger: bridge{log}}},
	}
}

// bridge is a logger of Ergo that writes to zerolog.
type bridge struct{ log zerolog.Logger }

var levels = map[gen.LogLevel]zerolog.Level{
	gen.LogLevelTrace:   zerolog.TraceLevel,
	gen.LogLevelDebug:   zerolog.DebugLevel,
	gen.LogLevelInfo:    zerolog.InfoLevel,
	gen.LogLevelWarning: zerolog.WarnLevel,
	gen.LogLevelError:   zerolog.ErrorLevel,
	gen.LogLevelPanic:   zerolog.ErrorLevel,
}

// Log writes one message.
func (b bridge) Log(m gen.MessageLog) {
	level, ok := levels[m.Level]
	if !ok {
		level = zerolog.InfoLevel
	}
	b.log.WithLevel(level).Msg(fmt.Sprintf(m.Format, m.Args...))
}

// Terminate has nothing to close.
func (bridge) Terminate() {}

// errorLog logs the errors of the metrics server and of its collectors.
type errorLog struct{ log zerolog.Logger }

// Println logs one message.
func (l errorLog) Println(v ...any) { l.log.Warn().Msg("metrics: " + fmt.Sprint(v...)) }

// Write logs a message of the web server.
func (l errorLog) Write(p []byte) (int, error) {
	l.Println(strings.TrimSpace(string(p)))
	return len(p), nil
}
