// Package attention computes scaled dot-product attention, softmax(f(Q·Kᵀ))·V, in one kernel,
// with memory that is linear in the length of the sequences.
//
// Find is a pass over the code of a compiled program. It makes one instruction, ops.Attention,
// of a product, the elementwise operations on its results (scale, mask, bias), a softmax and a
// second product, where nothing else reads the values between. The instruction's region has the
// instructions that it replaces, and defines its result. Lower plans the instruction: blocks of
// keys stream through shared memory while an online softmax (Milakov and Gimelshein 2018) rescales
// the sums of the blocks before, as in FlashAttention (Dao, Fu, Ermon, Rudra and Ré 2022). Scores
// are computed by the expressions of the region, so a mask of any form has the unfused bits.
//
// The sums are in f32, in an order that the shape decides. For K keys whose values are below
// 2^127 / K in magnitude, a result differs from that of the region by at most
// 4·(K + D·S + 64)·2⁻²⁴ of the greatest magnitude V of the values. D is the length of a query; S, at
// least 1, is the greatest sum of the magnitudes of a logit's terms: products and biases. The region
// rounds intermediate results of narrow types, which adds u·(4 + S)·V: u is 2⁻⁸ for bf16, 2⁻¹¹ for
// f16. A row of logits with NaN, or of -Inf alone, gives NaN, as there.
//
// A device computes in one kernel what it could not store the scores of, or what takes more time to
// move than to compute by the model in model.go. Otherwise products and a softmax are faster: their
// tiles are larger, and those of narrow types use matrix hardware, which this kernel does not.
// Gradients read the weights, so attention in them is not found.
//
// Work is 2·(D + E)·M·K operations for M queries and E columns of values, in shared memory of
// about 13 KiB for each 64 queries. The package refuses to know models, caches and the policy of
// an executor.
package attention
