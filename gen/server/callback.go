package server

import (
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/exec"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

// callBack sends {nxvk_hook, Server, Run, Index, Values} or
// {nxvk_callback, Server, Run, Ref, Index, Values} to the callback process of a run.
func (d *Device) callBack(c exec.Call) {
	values := make(etf.List, len(c.Types))
	for i, t := range c.Types {
		typ := typeTerm(t).(etf.Tuple)
		values[i] = etf.Tuple{typ[0], typ[1], c.Data[i]}
	}
	server, run, index := etf.Atom(d.cfg.Name), int64(c.Run), int64(c.Index)
	message := etf.Tuple{etf.Atom("nxvk_hook"), server, run, index, values}
	if c.Ref != 0 {
		message = etf.Tuple{etf.Atom("nxvk_callback"), server, run, int64(c.Ref), index, values}
	}
	d.tell(dist.PID(c.To), message)
}

// takeAnswer handles {nxvk_answer, Run, Ref, {ok, [Data]} | {error, Text}}. It reports false
// for any other message.
func (d *Device) takeAnswer(sender gen.PID, t etf.Tuple) bool {
	if len(t) != 4 || t[0] != etf.Atom("nxvk_answer") {
		return false
	}
	a, err := wire.DecodeAnswer(t)
	if err != nil {
		d.reportError(sender, err)
		return true
	}
	d.exec.Answer(dist.Pid(sender), a.Run, a.Ref, a.Data, a.Err)
	return true
}
