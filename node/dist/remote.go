package dist

import (
	"time"

	"ergo.services/ergo/gen"
)

// remoteNode is a Connection as Ergo's gen.RemoteNode.
type remoteNode Connection

func (r *remoteNode) Name() gen.Atom          { return r.name }
func (r *remoteNode) Uptime() int64           { return r.ConnectionUptime() }
func (r *remoteNode) ConnectionUptime() int64 { return int64(time.Since(r.up).Seconds()) }
func (r *remoteNode) Version() gen.Version    { return gen.Version{Name: "erlang"} }
func (r *remoteNode) Creation() int64         { return int64(r.peer.Creation) }
func (r *remoteNode) Disconnect()             { (*Connection)(r).finish(gen.TerminateReasonNormal) }

func (r *remoteNode) Info() gen.RemoteNodeInfo {
	return gen.RemoteNodeInfo{
		Node:             r.name,
		Uptime:           r.Uptime(),
		ConnectionUptime: r.ConnectionUptime(),
		Version:          r.Version(),
		HandshakeVersion: handshakeVersion,
		ProtoVersion:     protoVersion,
		PoolSize:         1,
		BytesIn:          r.bytes.Load(),
	}
}

func (r *remoteNode) Spawn(gen.Atom, gen.ProcessOptions, ...any) (gen.PID, error) {
	return gen.PID{}, gen.ErrUnsupported
}

func (r *remoteNode) SpawnRegister(gen.Atom, gen.Atom, gen.ProcessOptions, ...any) (gen.PID, error) {
	return gen.PID{}, gen.ErrUnsupported
}

func (r *remoteNode) ApplicationStart(gen.Atom, gen.ApplicationOptions) error {
	return gen.ErrUnsupported
}

func (r *remoteNode) ApplicationStartTemporary(gen.Atom, gen.ApplicationOptions) error {
	return gen.ErrUnsupported
}

func (r *remoteNode) ApplicationStartTransient(gen.Atom, gen.ApplicationOptions) error {
	return gen.ErrUnsupported
}

func (r *remoteNode) ApplicationStartPermanent(gen.Atom, gen.ApplicationOptions) error {
	return gen.ErrUnsupported
}
