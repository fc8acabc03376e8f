package attention

import (
	"fmt"

	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// The shape of a workgroup of the kernel for few queries.
const (
	fewThreads = 512
	fewTeam    = 4    // invocations that share a key: each has every fourth vector of it
	fewDeep    = 1024 // elements of a query, at most: it is in shared memory
	fewLoads   = 16   // vectors of keys that an invocation loads before it uses the first
	fewValues  = 4    // of values
	fewEarly   = 12   // of values, before their weights are known
	fewKeys    = 2    // keys of an invocation in a softmax, at most
	leastPart  = 128  // keys of a workgroup, at least, where several share the keys of a query
	fewGroups  = 264  // workgroups that are wanted then

	// Where there is more than one query for each multiprocessor, two smaller workgroups share it: one computes while the
	// other one waits for memory. On an H200, 256 queries of 288 keys of 128 bf16 take 14.8 us so, and 20.4 otherwise.
	pairLoads = 20
	pairEarly = 6
)

// fewJob is the kernel for few queries, as a step of a generation has them: it takes as long as keys and
// values take to be read. A workgroup has one query and a part of the keys. Where the keys of a query have several
// parts, a second kernel joins them (Flash-Decoding, Dao, Haziza, Massa and Sizov 2023).
type fewJob struct {
	*job
	threads int
	part    int // keys of a workgroup
	parts   int // of the keys of a query

	keyVector, valueVector int // elements of keys and of values that are loaded at once
	deep                   int // vectors of a key that an invocation has in flight
	lines                  int // keys that it has in flight
	early                  int // vectors of values that it loads before their weights are known
	columns                int // invocations that share the columns of values, a power of two

	newKey, newValue *put    // what it puts among the others; nil where there is none
	results          [2]*put // in the order of the results
}

// onFew is the kernel for few queries; nil where these are more, or the device has no room for it.
func (j *job) onFew() *fewJob {
	f := &fewJob{job: j, threads: fewThreads}
	if j.queries >= leastQueries || j.depth > fewDeep {
		return nil
	}
	for f.threads > j.target.MaxInvocations {
		f.threads /= 2
	}
	loads, early := fewLoads, fewEarly
	if f.rows() > gemm.Multiprocessors && j.keys <= fewKeys*f.threads/2 {
		f.threads, loads, early = f.threads/2, pairLoads, pairEarly
	}
	f.keyVector, f.valueVector = vectorOf(&j.key, j.depth), vectorOf(&j.value, j.width)
	f.deep = min(fewLoads, ceil(j.depth, fewTeam*f.keyVector))
	f.lines = min(fewKeys*fewTeam, max(1, loads/f.deep))
	f.columns = 1 << codegen.Log2(j.width/f.valueVector)
	f.divide()
	f.lines = min(f.lines, 1<<codegen.Log2(ceil(f.part, f.threads/fewTeam)))
	f.early = min(early, ceil(f.part, max(1, f.threads/f.columns)))
	if max(f.columns, f.joinColumns()) > f.threads || f.sharedFloats()*4 > j.target.SharedMemory {
		return nil
	}
	return f
}

// divide divides the keys of a query. Where no reader joins parts, there is one if that is read sooner than a second
// kernel begins.
func (f *fewJob) divide() {
	most := fewKeys * f.threads
	if f.part = f.keys; !f.share() && f.keys > most {
		f.part = min(most, max(leastPart, tile.Whole(ceil(f.keys*f.rows(), fewGroups), fewTeam)))
	}
	f.parts = ceil(f.keys, f.part)
}

func ceil(n, unit int) int { return (n + unit - 1) / unit }

// rows is how many queries all matrices have.
func (f *fewJob) rows() int { return f.batches * f.queries }

// line is the distance of the products of a team in shared memory: those of neighbouring keys are in
// different banks.
func (f *fewJob) line() int { return fewKeys*f.threads + 8 }

// sharedSums is the size of the array that has products of the teams, and later sums of the values and of the weights.
func (f *fewJob) sharedSums() int { return max(fewTeam*f.line(), f.threads*(f.valueVector+1)) }

// sharedFloats is the shared memory of a workgroup: the sums; the query; weights; a number of each invocation.
func (f *fewJob) sharedFloats() int { return f.sharedSums() + fewDeep + (fewKeys+1)*f.threads }

// streamed is the time, in seconds, of the kernels: each query reads all keys and values.
func (f *fewJob) streamed() float64 {
	kernels := min(f.parts, 2)
	if f.joinable() {
		kernels = 1 // if its reader joins the parts
	}
	return dispatchTime*float64(kernels) + float64(f.queries)*f.reading()
}

// apart is the time of two products and a softmax, which read keys and values once.
func (f *fewJob) apart() float64 { return f.job.apart() + f.reading() }

// reading is the time in which keys and values are read.
func (f *fewJob) reading() float64 {
	key := f.depth*bytesOf(&f.job.key) + f.width*bytesOf(&f.job.value)
	return float64(f.batches) * float64(f.keys) * float64(key) / tile.MemoryRate
}

func bytesOf(o *operand) int { return lowering.ElemOf[o.DType].Size() }

// plan is the kernel, and the one that joins parts.
func (f *fewJob) plan() (*lowering.Plan, error) {
	p, err := f.program()
	if err != nil {
		return nil, err
	}
	if f.parts == 1 {
		return codegen.NewPlan(f.target, nil, p)
	}
	join := f.joining
	if f.joinable() {
		join = f.columnJoining
	}
	return codegen.NewPlan(f.target, f.temps(), p, join())
}

// sums and tails are the temporaries of parts: sums of values, and the maximum and the sum of weights.
func (f *fewJob) sums(a lowering.Access) codegen.Buffer {
	return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: 0}, Elem: kernel.F32, Access: a, Bytes: int64(f.rows()*f.parts) * int64(4*f.width)}
}

func (f *fewJob) tails(a lowering.Access) codegen.Buffer {
	return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: 1}, Elem: kernel.F32, Access: a, Bytes: int64(f.rows()*f.parts) * 8}
}

// program is the kernel that has parts of the keys.
func (f *fewJob) program() (*codegen.Program, error) {
	groups := f.rows() * f.parts
	p, err := f.job.loads(groups, f.rows()*f.parts*f.width)
	if err != nil {
		return nil, err
	}
	p.Local, p.Body, p.ByRows = uint32(f.threads), f.write, f.begin
	p.Numbers = append([]int{f.queries, f.keys, f.depth, f.width, f.parts, f.part, groups}, f.job.placeNumbers()...)
	p.Key = fmt.Sprintf("few vectors=%d,%d deep=%d lines=%d,%v early=%d,%v keys=%d of %d columns=%d whole=%v %s", f.keyVector, f.valueVector, f.deep, f.lines,
		f.part > f.threads/fewTeam*f.lines, f.early, f.part > f.threads/f.columns*f.early, ceil(f.part, f.threads), f.folded(), f.columns, f.parts == 1, f.describe())
	f.addPuts(p)
	if f.parts == 1 {
		f.addResult(p)
		return p, nil
	}
	p.Buffers = append(p.Buffers, f.sums(lowering.Write), f.tails(lowering.Write))
	p.Bytes += f.sums(lowering.Write).Bytes
	return p, nil
}

// addResult adds the buffer of the results to a program.
func (j *job) addResult(p *codegen.Program) {
	out := codegen.ResultBuffer(j.result)
	out.Access, out.Bytes = lowering.Write, int64(j.batches*j.queries*j.width*out.Size())
	p.Buffers, p.Bytes = append(p.Buffers, out), p.Bytes+out.Bytes
}

// joining is the kernel that joins the parts of a query.
func (f *fewJob) joining() *codegen.Program {
	p := &codegen.Program{Local: uint32(f.threads), Groups: f.rows(), Body: f.join, Index: codegen.IndexType(f.rows() * f.parts * f.width),
		Key:     fmt.Sprintf("few parts vector=%d columns=%d to %v", f.joinVector(), f.joinColumns(), f.result),
		Numbers: []int{f.parts, f.width, f.rows()}}
	for _, b := range []codegen.Buffer{f.sums(lowering.Read), f.tails(lowering.Read)} {
		p.Buffers, p.Bytes = append(p.Buffers, b), p.Bytes+b.Bytes
	}
	f.addResult(p)
	return p
}

// joinVector is how many sums of a part are loaded at once, joinColumns how many invocations share those of a
// part.
func (f *fewJob) joinVector() int {
	if f.width%4 == 0 {
		return 4
	}
	return 1
}

func (f *fewJob) joinColumns() int { return 1 << codegen.Log2(f.width/f.joinVector()) }

// vectorOf is how many columns of n kernels load at once: as many as 16 bytes have, if rows begin and end with
// whole vectors.
func vectorOf(o *operand, n int) int {
	v := 16 / bytesOf(o)
	for v > 1 && !(n%v == 0 && o.InGroups(v)) {
		v /= 2
	}
	return v
}
