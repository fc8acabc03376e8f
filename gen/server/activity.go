package server

import (
	"cmp"
	"slices"

	"nxvk/gen/etf"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/sample"
	"nxvk/gen/server/report"
)

// maxKernels is how many kernels of a device the manager lists.
const maxKernels = 64

// busiest returns the kernels that took the device longest, these first.
func (d *Device) busiest() (list []report.Kernel) {
	d.exec.Kernels(func(name string, a kernels.Activity) {
		if len(list) == maxKernels && a.Seconds <= list[maxKernels-1].Seconds {
			return
		}
		i, _ := slices.BinarySearchFunc(list, a.Seconds, func(k report.Kernel, s float64) int { return cmp.Compare(s, k.Seconds) })
		list = slices.Insert(list, i, report.Kernel{Name: name, Activity: a})
		list = list[:min(len(list), maxKernels)]
	})
	return list
}

// kernels is the answer to the request of that name.
func (m *Manager) kernels() etf.Term {
	l := etf.List{}
	for i, d := range m.statuses() {
		for _, k := range d.Kernels {
			l = append(l, etf.Map{
				pair("device", i), pair("name", k.Name), pair("op", k.Op),
				pair("dispatches", k.Dispatches), pair("seconds", k.Seconds),
			})
		}
	}
	return l
}

// chains is the answer to the request of that name.
func (m *Manager) chains() etf.Term {
	l := etf.List{}
	for i, d := range m.statuses() {
		for _, s := range d.Sessions {
			for _, run := range s.Chains {
				for n, p := range run.Chains {
					l = append(l, append(etf.Map{
						pair("device", i), pair("pid", s.Owner), pair("label", s.Label), pair("run", run.Run), pair("chain", n),
					}, chainTerm(run.Planned, p)...))
				}
			}
		}
	}
	return l
}

func chainTerm(planned, p sample.Progress) etf.Map {
	return etf.Map{
		pair("warmup", p.Warmup.Done), pair("warmup_of", planned.Warmup.Done),
		pair("draws", p.Draws.Done), pair("draws_of", planned.Draws.Done),
		pair("divergent", p.Draws.Divergent), pair("steps", p.Steps), pair("step_size", p.Step),
	}
}
