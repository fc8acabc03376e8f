package dist

import "ergo.services/ergo/gen"

// unsupported is what Ergo nodes can ask of each other and BEAM nodes cannot:
// calls in Ergo's manner, events, aliases as targets, spawning.
type unsupported struct{}

func (unsupported) SendEvent(gen.PID, gen.MessageOptions, gen.MessageEvent) error {
	return gen.ErrUnsupported
}

func (unsupported) SendResponse(gen.PID, gen.PID, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

func (unsupported) SendResponseError(gen.PID, gen.PID, gen.MessageOptions, error) error {
	return gen.ErrUnsupported
}

func (unsupported) SendTerminateAlias(gen.Alias, error) error { return nil }
func (unsupported) SendTerminateEvent(gen.Event, error) error { return nil }

func (unsupported) CallPID(gen.PID, gen.PID, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

func (unsupported) CallProcessID(gen.PID, gen.ProcessID, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

func (unsupported) CallAlias(gen.PID, gen.Alias, gen.MessageOptions, any) error {
	return gen.ErrUnsupported
}

func (unsupported) LinkProcessID(gen.PID, gen.ProcessID) error   { return gen.ErrUnsupported }
func (unsupported) UnlinkProcessID(gen.PID, gen.ProcessID) error { return gen.ErrUnsupported }
func (unsupported) LinkAlias(gen.PID, gen.Alias) error           { return gen.ErrUnsupported }
func (unsupported) UnlinkAlias(gen.PID, gen.Alias) error         { return gen.ErrUnsupported }

func (unsupported) LinkEvent(gen.PID, gen.Event) ([]gen.MessageEvent, error) {
	return nil, gen.ErrUnsupported
}

func (unsupported) UnlinkEvent(gen.PID, gen.Event) error    { return gen.ErrUnsupported }
func (unsupported) MonitorAlias(gen.PID, gen.Alias) error   { return gen.ErrUnsupported }
func (unsupported) DemonitorAlias(gen.PID, gen.Alias) error { return gen.ErrUnsupported }
func (unsupported) DemonitorEvent(gen.PID, gen.Event) error { return gen.ErrUnsupported }

func (unsupported) MonitorEvent(gen.PID, gen.Event) ([]gen.MessageEvent, error) {
	return nil, gen.ErrUnsupported
}

func (unsupported) RemoteSpawn(gen.Atom, gen.ProcessOptionsExtra) (gen.PID, error) {
	return gen.PID{}, gen.ErrUnsupported
}
