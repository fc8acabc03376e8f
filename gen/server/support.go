package server

import (
	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec/target"
	"nxvk/gen/wire"
	"nxvk/node/dist"
	"nxvk/ops"
	"nxvk/vulkan"
)

// computes reports whether a device computes with a type: whether it can add.
func computes(i *vulkan.Info, t ops.DType) bool {
	_, why := target.Support(i, ops.Add, t)
	return why == ""
}

// answerSupport answers which operations and types the devices leave to the host. To compile
// everything takes a second; meanwhile the manager serves others.
func (m *Manager) answerSupport(c dist.Call) {
	var infos []*vulkan.Info
	for _, s := range m.statuses() {
		infos = append(infos, s.Device)
	}
	node, log := m.Node(), m.cfg.Log
	list := etf.List{}
	account := m.cfg.Work.Account()
	account.Start("support", func(w *sched.Worker) error {
		for _, i := range infos {
			list = append(list, exceptionTerms(target.Exceptions(i)))
			if err := w.Yield(); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) {
		answer := wire.Success(list)
		if err != nil {
			answer = internalFailure(log, err)
		}
		if err := node.Send(c.From, dist.NewReply(c, answer)); err != nil {
			log.Debug().Err(err).Stringer("to", c.From).Msg("an answer was not sent")
		}
		account.End()
	})
}

// exceptionTerms maps each operation to tuples of place, types and reason.
func exceptionTerms(all []target.Exception) etf.Map {
	var m etf.Map
	for _, x := range all {
		types := etf.List{}
		for _, d := range x.Types {
			types = append(types, etf.Atom(d.String()))
		}
		one := etf.Tuple{etf.Atom(x.Place.String()), types, x.Reason}
		if n := len(m); n > 0 && m[n-1].Key == etf.Atom(x.Op.String()) {
			m[n-1].Value = append(m[n-1].Value.(etf.List), one)
			continue
		}
		m = append(m, pair(x.Op.String(), etf.List{one}))
	}
	return m
}
