// What the kernels for a matrix and a few vectors share: their parameters, and the part of
// the product that a workgroup has. The vectors are columns of B, whose elements may lie
// anywhere.

#define PARAMETERS                                                 \
    uint m, n, k;                                                  \
    uint lda;                  /* elements between rows or columns of A */ \
    uint row_b, col_b;         /* elements between k and between n */ \
    uint batch_a, batch_b;     /* elements between matrices */     \
    uint batches;              /* in all; chunks of k repeat them */ \
    uint first;                /* the batch of workgroup z = 0 */  \
    uint start;                /* the group of workgroup 0 */      \
    uint chunk;                /* k a workgroup sums */            \
    uint row_c, col_c;         /* elements between results */

#include "memory.glsl"

STORED_LOADS

const bool ALIGNED_A = (ALIGNED & 1) != 0;
const bool ALIGNED_B = (ALIGNED & 2) != 0;

#define VECTORS_LOCALS                                                             \
    const uint z = gl_WorkGroupID.z + p.first;                                     \
    const uint batch = z % p.batches;                                              \
    const uint k_begin = (z / p.batches) * p.chunk;                                \
    const uint k_end = min(k_begin + p.chunk, p.k);                                \
    const uint group = p.start + gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; \
    const uint a = batch * p.batch_a, b = batch * p.batch_b;
