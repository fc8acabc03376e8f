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
// Each pass takes 2·D operations for each score and product; products and their expressions with the scores in memory take
// fewer. So this pays where the scores cannot be stored: see Job.Pays.
package gradient
