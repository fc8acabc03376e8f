// Package gradient computes the gradient of attention with memory that is linear in the length of the sequences.
//
// Its instruction is a region with two products of the size of the scores, S = Q·Kᵀ and X = dO·Vᵀ, expressions of
// their elements with sums and maxima along the keys, and results that are products of such expressions: dQ = dS·K,
// dK = dSᵀ·Q and dV = Pᵀ·dO, any of them. The package does not interpret the expressions. They may have a mask, a scale
// and the derivative of a softmax in any form, such as that through its maximum.
//
// The plan computes S and X again in each kernel, tile by tile, as FlashAttention-2 does (Dao 2023). The first kernels
// compute the sums and maxima, a number for each query, each kernel those that need only numbers of the kernels before:
// the maximum, then the sum of the exponentials, then the sum of P·dP. One kernel computes dQ; its workgroups have blocks
// of queries. One computes dK and dV; its workgroups have blocks of keys. No two workgroups add to the same result, so the
// shape fixes the order of each sum.
//
// Products are f32 fused multiply-adds of the operands as they are; S and X are rounded to their types, and so is each
// expression, as in the region. A sum of n terms differs from that of the region by at most 2·n·2⁻²⁴ of the sum of
// their magnitudes. Where the region's types are narrow, a difference in a sum can become one unit of the type in an expression.
//
// Where a device has matrix hardware for the type of queries, keys and values (bf16 or f16), the kernel of each pass is
// shaders/attention_matrix_gradient.comp, with the expressions spliced into it. A subgroup multiplies queries by keys, and
// dO by values; expressions of the elements of these products are operands of the next products. S, X, the expressions and
// all sums are f32 and are not rounded. Operands of products are rounded to the nearest number of the type: P, dS and, for
// bf16, a dO of f32. That is the only loss: each term of a result has a relative error of at most 2·u more, where u is 2⁻⁸
// for bf16 and 2⁻¹¹ for f16. A dO of f32 beside queries of f16 may be out of the range of f16; such gradients are
// multiply-adds, and so are those of more than 128 columns. Operands whose rows are no whole vectors of 16 bytes are copied.
//
// A number that depends on the query alone, such as a sum along its keys, is computed once and read from shared memory by
// all elements. A division by it becomes a product with its inverse, which adds a relative error of at most 2⁻²³ if the
// inverse is a normal number. So the code of an element, which a kernel has once for each register, neither divides nor loads.
//
// Each pass takes 2·D operations for each score and product. Products that keep the scores in memory take fewer, so these
// kernels pay where the scores cannot be stored (Job.Pays).
package gradient
