package scan

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// tiling says how a chunk of a line whose elements are neighbours is scanned on GPUs. A team of
// invocations has a chunk. The chunk has rows, and a row four elements for each invocation. An
// invocation folds its four in order; the fours of a row are folded by doubling: in step d each
// is folded onto what the one 2^d before it has; the rows are folded in order. Short lines are a
// chunk each, and teams share a workgroup; a team of long lines is a workgroup.
type tiling struct {
	team   int  // invocations
	rows   int  // 1, 2 or 4
	teams  int  // of a workgroup
	walks  bool // a workgroup scans all tiles of a line, one after the other
	stages bool // elements come and go by way of shared memory
}

const (
	scanLocal  = 256
	smallLocal = 192
	scanRows   = 4
	// Lines of up to so many fours have one row, and twice as many two rows: with several rows
	// an invocation has more loads under way, with few invocations a team has few steps.
	oneRow = 64
	// So many lines, of more than a tile each, are walked by a workgroup each: they fill a GPU.
	walkedLines = 256
	// Elements that are staged take up to so many bytes of shared memory, so that a processor
	// of 48 KiB has three workgroups.
	stageBytes = 17 << 10
)

// length is how many elements a tile has room for.
func (t *tiling) length() int { return t.team * t.rows * strided.Components }

// local is how many invocations a workgroup has: one of two numbers, so that kernels are few.
func (t *tiling) local() int {
	if t.teams*t.team <= smallLocal {
		return smallLocal
	}
	return scanLocal
}

// room is how many values a workgroup keeps in shared memory.
func (t *tiling) room() int {
	if t.stages {
		return staggered(t.local() * t.rows * strided.Components)
	}
	return 2 * t.rows * t.local()
}

// tiled reports whether the chunks are tiles.
func (j *scanJob) tiled(t *lowering.Target) bool {
	bytes := 2 * scanRows * scanLocal * kernel.TypeSize(codegen.WideType(j.elem))
	return !t.CPU && j.dense() && j.n > strided.Components && t.MaxInvocations >= scanLocal && t.SharedMemory >= max(bytes, stageBytes)
}

// tilingOf chooses the tiling of k lines, by their shape alone.
func (j *scanJob) tilingOf(k int) tiling {
	fours := (j.n + strided.Components - 1) / strided.Components
	t := tiling{team: scanLocal, rows: scanRows, teams: 1}
	if fours > scanLocal*scanRows {
		t.walks = k >= walkedLines
		return t
	}
	for t.rows = 1; t.rows < scanRows && fours > oneRow*t.rows; {
		t.rows *= 2
	}
	t.team = (fours + t.rows - 1) / t.rows
	t.teams = max(1, scanLocal/t.team)
	size := kernel.TypeSize(codegen.WideType(j.elem))
	t.stages = !j.fours() && j.neighbours() && staggered(t.local()*t.rows*strided.Components)*size <= stageBytes
	return t
}

// neighbours reports whether the lines lie one behind the other.
func (j *scanJob) neighbours() bool {
	return len(j.dims) == 0 || len(j.dims) == 1 && (j.dims[0] == 1 || j.at.Strides[0] == j.n)
}

// fours reports whether every four elements of a line can be loaded at once.
func (j *scanJob) fours() bool {
	for _, s := range j.at.Strides {
		if s%strided.Components != 0 && strided.Product(j.dims) > 1 {
			return false
		}
	}
	return j.n%strided.Components == 0
}

// dispatch completes the program that scans tiles of k lines.
func (t *tiling) dispatch(p *codegen.Program, j *scanJob, k int) {
	p.Local = uint32(t.local())
	units := k * j.parts
	if t.walks {
		units = k
	}
	p.Groups = (units + t.teams - 1) / t.teams
	p.Numbers = append([]int{t.team, t.teams}, p.Numbers...)
	p.Key += fmt.Sprintf(" tiled rows=%d steps=%d walks=%v stages=%v fours=%v backward=%v", t.rows, t.steps(), t.walks, t.stages, j.fours(), j.stride < 0)
}

// steps is how often the sums of a row are doubled.
func (t *tiling) steps() (n int) {
	for 1<<n < t.team {
		n++
	}
	return n
}
