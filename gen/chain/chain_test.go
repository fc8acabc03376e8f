package chain

import (
	"bytes"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/exec/exectest/rig"
	"nxvk/gen/sample"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// compile makes a shader of testdata/chain.comp.
func compile(t *testing.T, defines ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "chain.spv")
	tool, err := osexec.LookPath("glslangValidator")
	if err != nil {
		t.Skipf("no shader of a client to try: %v", err)
	}
	args := []string{"-V", "-o", out, "testdata/chain.comp"}
	if msg, err := osexec.Command(tool, append(args, defines...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	code, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// shaderRig has a device that takes shaders.
func shaderRig(t *testing.T) (*bench, *exec.Queue) {
	r := newRig(t, harness.Device(t, vulkan.Options{}), true)
	return r, r.Session()
}

func (r *bench) shader(q *exec.Queue, key string, code []byte) {
	r.Exec.Stream(q, []wire.Instr{{Name: "shader", Instr: ops.Instr{Op: ops.Shader}, Defines: wire.Defines{Key: key, Shader: code}}})
}

// kept is a copy of lent results.
func kept(r sample.Rows) sample.Rows {
	defer r.Free()
	return sample.Rows{Q: bytes.Clone(r.Q), P: bytes.Clone(r.P), Grad: bytes.Clone(r.Grad), LogP: bytes.Clone(r.LogP)}
}

// chain waits for the rows of a request.
func (r *bench) chain(q *exec.Queue, c *wire.Chain) (rows sample.Rows, err error) {
	r.Helper()
	done := false
	r.chains.Chain(q, c, func(got sample.Rows, e error) { rows, err, done = kept(got), e, true })
	r.Until(func() bool { return done })
	return rows, err
}

func same(a, b sample.Rows) bool {
	return bytes.Equal(a.Q, b.Q) && bytes.Equal(a.P, b.P) && bytes.Equal(a.Grad, b.Grad) && bytes.Equal(a.LogP, b.LogP)
}

// TestShaderSteps: the rows of a shader are those of the host, bit for bit, also where
// its log density lags; a longer chain begins with the shorter one, and
// instances do not see each other.
func TestShaderSteps(t *testing.T) {
	r, session := shaderRig(t)
	r.shader(session, "good", compile(t, "-DNUM=double"))
	r.shader(session, "late", compile(t, "-DNUM=double", "-DLAG", "-DONE"))
	q, p, metric := []float64{1, -0.5}, []float64{0.3, 2}, []float64{1, 0.25}
	request := func(key string, k int) *wire.Chain {
		return &wire.Chain{Shader: key, N: 1, K: k, D: 2, Step: 0.1, Type: ops.F64, Correct: true,
			Q: rig.F64s(q...), P: rig.F64s(p...), Extras: rig.F64s(metric...)}
	}
	want := normal(q, p, metric, 0.1, 32)
	for _, key := range []string{"good", "late"} {
		got, err := r.chain(session, request(key, 32))
		if err != nil {
			t.Fatal(err)
		}
		if !same(got, want) {
			t.Errorf("%s: the rows are not those of the host", key)
		}
		short, err := r.chain(session, request(key, 5))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(short.Q, got.Q[:len(short.Q)]) || !bytes.Equal(short.LogP, got.LogP[:len(short.LogP)]) {
			t.Errorf("%s: five steps are not the first five of 32", key)
		}
	}
	for key, want := range map[string]ShaderInfo{"good": {Tried: true}, "late": {Tried: true, Lags: true}} {
		r.chains.Shader(session, key, func(got ShaderInfo, err error) {
			if err != nil || got != want {
				t.Errorf("%s: %+v, %v; want %+v", key, got, err, want)
			}
		})
	}
	raw := request("late", 3)
	raw.Correct = false
	if got, err := r.chain(session, raw); err != nil || bytes.Equal(got.LogP, want.LogP[:24]) {
		t.Errorf("uncorrected: %v; the densities must lag", err)
	}
	both := request("good", 32)
	both.N, both.Q, both.P, both.Extras = 2, rig.F64s(5, 6, 1, -0.5), rig.F64s(1, 1, 0.3, 2), rig.F64s(1, 1, 1, 0.25)
	got, err := r.chain(session, both)
	if err != nil {
		t.Fatal(err)
	}
	if second := (sample.Rows{Q: got.Q[len(want.Q):], P: got.P[len(want.P):], Grad: got.Grad[len(want.Grad):], LogP: got.LogP[len(want.LogP):]}); !same(second, want) {
		t.Error("the second instance is not what it is alone")
	}
}

// TestShaderSingle: shaders of f32.
func TestShaderSingle(t *testing.T) {
	r, q := shaderRig(t)
	r.shader(q, "f32", compile(t, "-DNUM=float"))
	got, err := r.chain(q, &wire.Chain{Shader: "f32", N: 1, K: 2, D: 1, Step: 0.5, Type: ops.F32, Correct: true,
		Q: harness.Floats(1), P: harness.Floats(0), Extras: harness.Floats(1)})
	if err != nil {
		t.Fatal(err)
	}
	if want := harness.Floats(0.875, 0.53125); !bytes.Equal(got.Q, want) {
		t.Errorf("positions %x, want %x", got.Q, want)
	}
}

func TestShaderFaults(t *testing.T) {
	r, q := shaderRig(t)
	good := compile(t, "-DNUM=double", "-DONE")
	request := func(key string) *wire.Chain {
		return &wire.Chain{Shader: key, N: 1, K: 1, D: 1, Step: 0.1, Type: ops.F64, Q: rig.F64s(1), P: rig.F64s(1), Extras: rig.F64s(1)}
	}
	spoil := func(f func(b []byte) []byte) []byte { return f(slices.Clone(good)) }
	for _, c := range []struct {
		name string
		code []byte
		want string
	}{
		{"empty", nil, "0 bytes are no module"},
		{"odd", good[:len(good)-1], "are no module"},
		{"cut", good[:len(good)-4], "SPIR-V is not accepted"},
		{"random", bytes.Repeat([]byte{0xa5, 7, 1, 0}, 100), "magic number"},
		{"version", spoil(func(b []byte) []byte { b[6] = 9; return b }), "is not from 1.0 to 1.6"},
		{"bound", spoil(func(b []byte) []byte { b[15] = 0x7f; return b }), "ids"},
		{"no entry", good[:20], "no entry point"},
		{"bindings", compile(t, "-DNUM=double", "-DONE", "-DLAST=7"), "it has binding 7"},
	} {
		r.shader(q, c.name, c.code)
		if _, err := r.chain(q, request(c.name)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := r.chain(q, request("never")); wire.KindOf(err) != wire.UnknownProgram {
		t.Errorf("a key without a shader: %v", err)
	}
	r.chains.Shader(q, "never", func(_ ShaderInfo, err error) {
		if wire.KindOf(err) != wire.UnknownProgram {
			t.Errorf("what is known of no shader: %v", err)
		}
	})
	r.shader(q, "good", good)
	two := request("good")
	two.N, two.Q, two.P, two.Extras = 2, rig.F64s(1, 2), rig.F64s(1, 2), rig.F64s(1, 2)
	if _, err := r.chain(q, two); err == nil || !strings.Contains(err.Error(), "serves one instance") {
		t.Errorf("two instances: %v", err)
	}
	narrow := request("good")
	narrow.Type = ops.F32
	if _, err := r.chain(q, narrow); err == nil || !strings.Contains(err.Error(), "the request is in f32") {
		t.Errorf("f32: %v", err)
	}
	r.chains.allow = false
	r.shader(q, "refused", good)
	if _, err := r.chain(q, request("refused")); err == nil || !strings.Contains(err.Error(), "--allow-shaders") {
		t.Errorf("a node that takes none: %v", err)
	}
}

// TestShaderSilent: a shader that writes nothing gives zeros, and nothing that another
// session has had on the device, however much it is.
func TestShaderSilent(t *testing.T) {
	r, q := shaderRig(t)
	r.shader(q, "silent", compile(t, "-DNUM=float", "-DSILENT"))
	for _, k := range []int{1, 3, 100, 20_000} {
		other := r.Session()
		secret := make([]float32, 2*k)
		for i := range secret {
			secret[i] = 7
		}
		for id := range ops.ID(40) { // as much as the rows, and their size
			r.Do(other, ops.Tensor, id+1, harness.F32(len(secret)), nil, ops.Operand{Lit: &ops.Literal{Type: harness.F32(len(secret)), Data: harness.Floats(secret...)}})
			r.Do(other, ops.Add, id+101, harness.F32(len(secret)), nil, harness.Ref(id+1), harness.Scalar(0))
			if x, err := r.Read(other, id+101, 0, 1); err != nil || x[0] != 7 {
				t.Fatalf("got %v, %v", x, err)
			}
		}
		r.Exec.End(other.Session)
		r.Until(func() bool { return len(r.Posted) == 0 })
		got, err := r.chain(q, &wire.Chain{Shader: "silent", N: 1, K: k, D: 2, Step: 1, Type: ops.F32, Q: harness.Floats(1, 1), P: harness.Floats(1, 1), Extras: harness.Floats(1, 1)})
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"q": got.Q, "p": got.P, "grad": got.Grad, "logp": got.LogP} {
			if len(b) == 0 || bytes.Count(b, []byte{0}) != len(b) {
				t.Errorf("%d steps: %s of %d bytes is not all zero: %x …", k, name, len(b), b[:4])
			}
		}
	}
}

// TestShaderBound: rows that cannot be bound are refused, and calls are not joined to
// such.
func TestShaderBound(t *testing.T) {
	r := newRig(t, harness.Device(t, vulkan.Options{Fault: vulkan.Fault{StorageRange: func() uint64 { return 8 << 10 }}}), true)
	q := r.Session()
	r.shader(q, "good", compile(t, "-DNUM=double"))
	request := func(k int) *wire.Chain {
		return &wire.Chain{Shader: "good", N: 1, K: k, D: 2, Step: 0.1, Type: ops.F64, Batch: true, Q: rig.F64s(1, 2), P: rig.F64s(1, 2), Extras: rig.F64s(1, 1)}
	}
	if _, err := r.chain(q, request(512)); wire.KindOf(err) != wire.BadArgument || !strings.Contains(err.Error(), "fewer steps") {
		t.Errorf("got %v, want a bad argument", err)
	}
	want, err := r.chain(q, request(300))
	if err != nil {
		t.Fatal(err)
	}
	left := 12
	for range left {
		r.chains.Chain(q, request(300), func(rows sample.Rows, err error) {
			if got := kept(rows); err != nil || !same(got, want) {
				t.Errorf("together: other rows (%v)", err)
			}
			left--
		})
	}
	r.Until(func() bool { return left == 0 })
}

// normal are the steps of testdata/chain.comp, on the host.
func normal(q, p, metric []float64, eps float64, k int) sample.Rows {
	x := rig.NormalSteps(q, p, metric, eps, k)
	return sample.Rows{Q: x[0], P: x[1], Grad: x[2], LogP: x[3]}
}
