package ops

import (
	"fmt"
	"slices"
)

// Transforms cut the operand to the length, or fill it with zeros. They round real and
// imaginary parts of at most eps to 0.
var transformRows = map[Op]Info{
	FFT:  transform("fft", "Discrete Fourier transform along an axis.", fftShape).result(ComplexType),
	IFFT: transform("ifft", "Inverse discrete Fourier transform along an axis.", fftShape).result(ComplexType),
	FFT2: transform2("fft2", "Fourier transform along the second and then the first of two axes."),
	IFFT2: transform2("ifft2",
		"Inverse Fourier transform along the second and then the first of two axes."),
	RFFT: transform("rfft", "The first length / 2 + 1 coefficients of the Fourier transform of a real signal.",
		rfftShape).result(ComplexType),
	IRFFT: transform("irfft", "The real signal of the given length, from the first coefficients of its Fourier transform.", fftShape),

	Phase: unary("phase", Code{Float: "atan2(0, x)", Complex: "atan2(xi, x)"}, "Angle of a complex number.").result(RealType),
}

func transform(name, doc string, infer InferShape) Info {
	return Info{Name: name, Kind: Transform, Arity: 1, Infer: infer, Doc: doc,
		Attrs: []Attr{{Name: "length", Kind: Int}, {Name: "axis", Kind: Int}, {Name: "eps", Kind: Real64}}}
}

func transform2(name, doc string) Info {
	return Info{Name: name, Kind: Transform, Arity: 1, Result: ComplexType, Infer: fft2Shape, Doc: doc,
		Attrs: []Attr{{Name: "lengths", Kind: Ints}, {Name: "axes", Kind: Ints}, {Name: "eps", Kind: Real64}}}
}

// resized is a shape with some dimensions replaced.
func resized(s Shape, axes, lengths []int) ([]Shape, error) {
	if len(axes) != len(lengths) {
		return nil, fmt.Errorf("%d lengths are given for %d axes", len(lengths), len(axes))
	}
	if err := checkAxes(axes, s); err != nil {
		return nil, err
	}
	out := slices.Clone(s)
	for i, a := range axes {
		if lengths[i] < 1 {
			return nil, fmt.Errorf("length %d must be at least 1", lengths[i])
		}
		out[a] = lengths[i]
	}
	return one(out)
}

func fftShape(in *Instr, t []Type) ([]Shape, error) {
	return resized(t[0].Shape, in.Attrs[1], in.Attrs[0])
}

func rfftShape(in *Instr, t []Type) ([]Shape, error) {
	if _, err := fftShape(in, t); err != nil {
		return nil, err
	}
	return resized(t[0].Shape, in.Attrs[1], []int{in.Attrs[0][0]/2 + 1})
}

func fft2Shape(in *Instr, t []Type) ([]Shape, error) {
	if len(in.Attrs[1]) != 2 {
		return nil, fmt.Errorf("axes %v must be two", in.Attrs[1])
	}
	return resized(t[0].Shape, in.Attrs[1], in.Attrs[0])
}
