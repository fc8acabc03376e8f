package nuts

import (
	"math"
	"math/bits"
)

// random is a stream of random numbers: Threefry-2x32 with 20 rounds (Salmon
// and others, Parallel Random Numbers: As Easy as 1, 2, 3, 2011) in counter
// mode. Streams of different numbers under one seed are independent.
type random struct {
	key     [2]uint32
	counter uint64
	spare   float64 // a normal number that is left
	left    bool
}

func newRandom(seed, stream uint64) *random {
	// The stream makes the key of the chain under the key of the run.
	a, b := threefry([2]uint32{uint32(seed), uint32(seed >> 32)}, [2]uint32{uint32(stream), uint32(stream >> 32)})
	return &random{key: [2]uint32{a, b}}
}

func threefry(key, x [2]uint32) (uint32, uint32) {
	rotations := [8]int{13, 15, 26, 6, 17, 29, 16, 24}
	ks := [3]uint32{key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA}
	a, b := x[0]+ks[0], x[1]+ks[1]
	for round := range 20 {
		a += b
		b = bits.RotateLeft32(b, rotations[round%8]) ^ a
		if round%4 == 3 {
			s := round/4 + 1
			a += ks[s%3]
			b += ks[(s+1)%3] + uint32(s)
		}
	}
	return a, b
}

func (r *random) next() uint64 {
	a, b := threefry(r.key, [2]uint32{uint32(r.counter), uint32(r.counter >> 32)})
	r.counter++
	return uint64(a)<<32 | uint64(b)
}

// uniform is in [0, 1), a multiple of 2^-53.
func (r *random) uniform() float64 { return float64(r.next()>>11) * 0x1p-53 }

// normal is a standard normal number (Box and Muller, 1958).
func (r *random) normal() float64 {
	if r.left {
		r.left = false
		return r.spare
	}
	u := float64(r.next()>>11+1) * 0x1p-53 // in (0, 1]
	sin, cos := math.Sincos(2 * math.Pi * r.uniform())
	length := math.Sqrt(-2 * math.Log(u))
	r.spare, r.left = length*sin, true
	return length * cos
}
