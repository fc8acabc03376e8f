package hostmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestPow compares with powers of rational numbers, whose exponents are eighths, that
// big.Float makes all but exact.
func TestPow(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	worst := 0.0
	for range 2000 {
		x, n := math.Exp(r.NormFloat64()), 1+r.IntN(3000)
		if n%2 == 0 {
			x = 1 + r.NormFloat64()/100
		}
		root := big.NewFloat(x).SetPrec(400)
		for range 3 {
			root.Sqrt(root)
		}
		exact := big.NewFloat(1).SetPrec(400)
		for range n {
			exact.Mul(exact, root)
		}
		w, _ := exact.Float64()
		got := Pow(x, float64(n)/8)
		if math.IsInf(w, 0) || w < 0x1p-1000 {
			continue
		}
		diff, _ := new(big.Float).Sub(exact, big.NewFloat(got)).Float64()
		worst = max(worst, math.Abs(diff)/(math.Nextafter(w, infinity)-w))
	}
	if worst > 0.6 {
		t.Errorf("the error is %.2f units in the last place", worst)
	}
	for _, c := range [][3]float64{{-2, 3, -8}, {-2, 2, 4}, {-2, 0.5, nan}, {0, 0, 1}, {0, -1, infinity}, {nan, 0, 1}, {1, nan, 1},
		{2, infinity, infinity}, {0.5, infinity, 0}, {-infinity, 3, -infinity}, {4, 0.5, 2}, {4, -0.5, 0.5}, {2, -1074, 0x1p-1074}, {2, 1024, infinity}, {1 + 0x1p-52, 1e300, infinity},
		{math.MaxFloat64, math.MaxFloat64, infinity}, {math.MaxFloat64, -math.MaxFloat64, 0}, {3, 0x1p-1074, 1}, {-8, 1.0 / 3, nan}} {
		if got := Pow(c[0], c[1]); got != c[2] && !(got != got && c[2] != c[2]) {
			t.Errorf("pow(%v, %v) = %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

// TestSpecial has the arguments at which package math loses digits.
func TestSpecial(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"acos", Acos(0.997597020638527), 0.06933891207120832},
		{"acos", Acos(-1), math.Pi},
		{"acos", Acos(2), nan},
		{"asin", Asin(-0.9999362747285705), -1.5595068672631585},
		{"exp", Exp(709.7), 1.6549840276802644e+308},
		{"cosh", Cosh(710), 1.1169973830808557e+308},
		{"sinh", Sinh(-710), -1.1169973830808557e+308},
		{"cosh", Cosh(-infinity), infinity},
		{"sigmoid", Sigmoid(-720), 2.0322308024242854e-313},
		{"log", Log(0x1p-1074), -744.4400719213812},
		{"log", Log(0x1.8p-1023), -708.6841006047159},
		{"log", Log(-1), nan},
		{"log", Log(0), -infinity},
		{"log", real(Clog(complex(0, 0x1p-1074))), -744.4400719213812},
		{"atan2", Atan2(-0x1p-1022, -1e30), -math.Pi},
		{"atan2", Atan2(0x1p-1022, -1e30), math.Pi},
		{"atan2", Atan2(math.Copysign(0, -1), -1), -math.Pi},
		{"log", imag(Clog(complex(-1e30, -0x1p-1022))), -math.Pi},
		{"erf_inv", ErfInv(0.12194824218750001), 0.10849805658433645},
		{"erf_inv", ErfInv(-0.3), -0.2724627147267543},
		{"erf_inv", ErfInv(0.7), 0.7328690779592167},
		{"erf_inv", ErfInv(0.99), 1.8213863677184494},
		{"erf_inv", ErfInv(-0.999999), -3.458910737275499},
		{"erf_inv", ErfInv(0.9999999999), 4.572824958544925},
		{"erf_inv", ErfInv(-1), -infinity},
		{"erf_inv", ErfInv(1.5), nan},
		{"erf_inv", ErfInv(0x1p-1074), 0x1p-1074},
		{"sin", Sin(1e22), -0.8522008497671888},
		{"cos", Cos(math.MaxFloat64), -0.9999876894265599},
		{"cos", Cos(6381956970095103 * 0x1p797), -4.6871659242546277e-19}, // the closest to a multiple of π/2
		{"sin", Sin(-infinity), nan},
		{"tan", Tan(5.488197858690717e-08), 5.4881978586907224e-08},
		{"tan", Tan(0.0005), 0.000500000041666670833},
	} {
		if c.got != c.want && !(math.Abs(c.got-c.want) <= 2.3e-16*math.Abs(c.want)) && !(c.got != c.got && c.want != c.want) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}
