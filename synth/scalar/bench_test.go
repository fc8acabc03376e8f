package scalar

import "testing"

func BenchmarkCompile(b *testing.B) {
	for _, e := range []string{"x + y", "exp(x)", "tanh(x)", "pow(x, y)", "fmod(x, y)"} {
		b.Run(e, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(e, F32, operands(F32), Env{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoadLibrary(b *testing.B) {
	names, files := []string{}, map[string]string{}
	entries, _ := texts.ReadDir("lib")
	for _, e := range entries {
		text, _ := texts.ReadFile("lib/" + e.Name())
		names, files[e.Name()] = append(names, e.Name()), string(text)
	}
	for b.Loop() {
		if _, err := parseLibrary(names, files); err != nil {
			b.Fatal(err)
		}
	}
}
