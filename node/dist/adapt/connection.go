package adapt

import "ergo.services/ergo/gen"

// Connection is embedded in a gen.Connection. It refuses what Ergo nodes can ask of each other and BEAM nodes cannot:
// calls in Ergo's manner, events, aliases as targets, spawning.
type Connection struct{}

func (Connection) SendEvent(gen.PID, gen.MessageOptions, gen.MessageEvent) error {
	return gen.ErrUnsupported
}

func (Connection) SendResponse(gen.PID, gen.PID, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

func (Connection) SendResponseError(gen.PID, gen.PID, gen.MessageOptions, error) error {
	return gen.ErrUnsupported
}

func (Connection) SendTerminateAlias(gen.Alias, error) error { return nil }
func (Connection) SendTerminateEvent(gen.Event, error) error { return nil }

func (Connection) CallPID(gen.PID, gen.PID, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

func (Connection) CallProcessID(gen.PID, gen.ProcessID, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

func (Connection) CallAlias(gen.PID, gen.Alias, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

func (Connection) LinkProcessID(gen.PID, gen.ProcessID) error   { return gen.ErrUnsupported }
func (Connection) UnlinkProcessID(gen.PID, gen.ProcessID) error { return gen.ErrUnsupported }
func (Connection) LinkAlias(gen.PID, gen.Alias) error           { return gen.ErrUnsupported }
func (Connection) UnlinkAlias(gen.PID, gen.Alias) error         { return gen.ErrUnsupported }

func (Connection) LinkEvent(gen.PID, gen.Event) ([]gen.MessageEvent, error) {
	return nil, gen.ErrUnsupported
}

func (Connection) UnlinkEvent(gen.PID, gen.Event) error    { return gen.ErrUnsupported }
func (Connection) MonitorAlias(gen.PID, gen.Alias) error   { return gen.ErrUnsupported }
func (Connection) DemonitorAlias(gen.PID, gen.Alias) error { return gen.ErrUnsupported }
func (Connection) DemonitorEvent(gen.PID, gen.Event) error { return gen.ErrUnsupported }

func (Connection) MonitorEvent(gen.PID, gen.Event) ([]gen.MessageEvent, error) {
	return nil, gen.ErrUnsupported
}

func (Connection) RemoteSpawn(gen.Atom, gen.ProcessOptionsExtra) (gen.PID, error) {
	return gen.PID{}, gen.ErrUnsupported
}
