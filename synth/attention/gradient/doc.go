// Package gradient computes the gradient of attention with memory that is linear in the length of the sequences.
//
// Its instruction is a region with two products of the size of the scores, S = Q·Kᵀ and X = dO·Vᵀ, expressions of
// their elements with sums and maxima along the keys, and results that are products of such expressions: dQ = dS·K,
// dK = dSᵀ·Q and dV = Pᵀ·dO, any of them. Which expressions these are does not matter: the derivative of a softmax, also
// through its maximum, a mask, a scale. So the forms that programs have are not told apart.
//
// The plan computes S and X again in each kernel, tile by tile, as FlashAttention-2 does (Dao 2023). A kernel for
// each depth of sums computes those that need no later ones, a number for each query: the maximum, then the sum of the exponentials,
// then the sum of P·dP. One kernel computes dQ, whose workgroups have blocks of queries, and one dK and dV, whose workgroups have
// blocks of keys. No result is added to by two workgroups, so the order of each sum is fixed by the shape.
//
// Products are f32 fused multiply-adds of the operands as they are; S and X are rounded to their types, and so is each
// expression, as in the region. A sum of n terms differs from that of the region by at most 2·n·2⁻²⁴ of the sum of
// their magnitudes. Where the region's types are narrow, a difference in a sum can become one unit of the type in an expression.
//
// Where a device has matrix hardware for the type of queries, keys and values (bf16 or f16), the kernel of each pass is
// shaders/attention_matrix_gradient.comp, with the expressions spliced into it. A subgroup multiplies matrices of queries and keys, and of
// what comes for the results and values; the expressions of their elements are operands of the next products. Sums, S, X, the
// expressions and the folds are f32, and are not rounded. The operands of products are: P, dS and, for bf16, a dO of f32, to
// the nearest of the type. That is the only loss: each term of a result has a relative error of at most 2·u more, where u is
// 2⁻⁸ for bf16 and 2⁻¹¹ for f16. A dO of f32 beside queries of f16 is not rounded, because it may be out of range; such gradients
// are multiply-adds. So are those of more than 128 columns. Operands whose rows are no whole vectors of 16 bytes are copied.
//
// What depends on the query alone, such as a fold, is a number of that query: an invocation computes it, and all elements read it in
// shared memory. A division by it becomes a product with its inverse, which adds a relative error of at most 2⁻²³ where the inverse
// is a normal number. So elements, of which a kernel has a copy for each register, neither divide nor load.
//
// Each pass takes 2·D operations for each score and product; products and their expressions with the scores in memory take
// fewer. So this pays where the scores cannot be stored: see Job.Pays.
package gradient
