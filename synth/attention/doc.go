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
// Where a device has matrix hardware for bf16 or f16 (VK_KHR_cooperative_matrix), and queries, keys,
// values, weights and results have that type, the kernel is shaders/attention_matrix.comp. It rounds
// weights and results, and no logits. Its results are within 3·u·V of the region computed in f32, beside the error
// of the sums. A logit that overflows f16 in the region does not overflow in the kernel. The kernel multiplies by the
// scale of the logits itself; the expressions behind the scale are spliced into it.
//
// A mask that compares positions (causal, windowed, from an offset on) makes the kernel skip whole tiles: the device
// evaluates the mask in the four corners of a tile. A mask that is added to the logits skips a tile if it is below
// −10³⁰ there, or in f16 below −6·10⁴; the package takes logits to be less than half of that. A row that is masked
// everywhere reads the skipped tiles after all, unless the mask is -Inf there. Values in a skipped tile are not read,
// so Inf or NaN among them does not spoil a result, as 0·Inf does in the region.
//
// Operands whose rows are no whole vectors of 16 bytes are copied first. Weights become operands of the second product
// in registers if the hardware holds an operand as it holds sums (lowering.Target.Alike), and through shared memory
// otherwise.
//
// For fewer than 16 queries, as in a step of a generation, each workgroup has one query (fewJob). Teams of
// invocations multiply it with keys; then come a softmax and the sums of the values. From 1,024 keys on, several
// workgroups share the keys of a query, and a second kernel joins their parts. With a single query they share the keys
// from 128 on if a product reads the results: each workgroup of that product joins up to 16 parts for itself (Stage).
// Values of weight 0 are not read, either. Keys and values are read in place, for example in a cache whose positions
// come before its heads. Where a step puts one key and one value for each query into caches, the kernel does that, too, and
// first computes them and the query, if that is small fusions (few_put.go).
//
// model.go estimates when one kernel is faster than products and a softmax. On matrix hardware it nearly always is from
// 128 queries on. For fewer than 16 queries it is, unless many queries share a key: products read a key once for all of
// them. By multiply-adds the one kernel is chosen if the device cannot store the scores, or takes longer to move them
// than to compute them; otherwise the larger tiles of products win.
//
// A gradient reads the weights, which one kernel does not store. FindGradients makes one instruction of the products of
// a gradient. It computes scores and weights again (package gradient), so only the attention reads its own weights. If
// something else reads them, the attention and its gradient stay as they are written.
//
// Work is 2·(D + E)·M·K operations for M queries and E columns of values, in shared memory of about 13 KiB for
// each 64 queries; on matrix hardware 23 KiB for 128 queries of 64 columns. The package refuses to know models,
// caches and the policy of an executor.
package attention
