#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"

// The matrix B may be of a narrower type than the sums.
#if defined(BF16) || defined(F16)
#define F32
#define NARROW uint16_t
#define NARROW_SIZE 2
#elif defined(S8) || defined(U8)
#define U32
#define NARROW uint8_t
#define NARROW_SIZE 1
#endif

#include "lib/types.glsl"
#if defined(NARROW)
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#endif
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

// A matrix product for devices that are processors: no shared memory and no
// barriers, which cost such a device a switch of coroutines. Loads are what is
// dear there, since each invocation's is carried out by itself. So a workgroup is
// one subgroup whose invocations hold eight columns each and all ROWS rows; of those
// rows each invocation loads its share and hands it round. Sums run in the order of
// k, as those of lib/tile.glsl do.
//
// The last blocks of a row or column are moved back to end where the matrix
// ends; a matrix with less than ROWS rows or eight columns does not come here.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint ROWS = 8;     // of results, a workgroup
layout(constant_id = 2) const uint A_ACROSS = 0; // 0: A is contiguous in k, 1: in m
layout(constant_id = 3) const uint B_ACROSS = 0; // 0: B is contiguous in n, 1: in k
layout(constant_id = 4) const uint ALIGNED = 7;  // bits: rows of A, B, C begin at four elements
layout(constant_id = 5) const uint SUBGROUP = 8;    // of a subgroup, and a workgroup

#define PARAMETERS                                                  \
    uint m, n, k;                                                   \
    uint lda, ldb;         /* elements between rows of storage */   \
    uint batch_a, batch_b; /* elements between matrices */          \
    uint batches;                                                   \
    uint first;            /* the batch of workgroup z = 0 */       \
    uint start;            /* the block of workgroup 0 */           \
    uint row_c, col_c;     /* elements between results */

#include "lib/memory.glsl"

#if defined(NARROW)
#if defined(ADDRESSES)
layout(buffer_reference, std430, buffer_reference_align = NARROW_SIZE) restrict readonly buffer InNarrow { NARROW v[]; };
#define B_NARROW(i) uint(InNarrow(uint64_t(p.b)).v[i])
#else
layout(set = 0, binding = 1, std430) readonly buffer BNarrow { NARROW v[]; } b_narrow;
#define B_NARROW(i) uint(b_narrow.v[i])
#endif
#undef B_ONE
#if defined(BF16)
#define B_ONE(i) uintBitsToFloat(B_NARROW(i) << 16)
#elif defined(F16)
#define B_ONE(i) unpackHalf2x16(B_NARROW(i)).x
#elif defined(S8)
#define B_ONE(i) uint(bitfieldExtract(int(B_NARROW(i)), 0, 8))
#else
#define B_ONE(i) B_NARROW(i)
#endif
#endif

const uint SHARE = (ROWS + SUBGROUP - 1) / SUBGROUP; // rows of A that an invocation loads

// broadcast returns the x of one invocation. Subgroup operations on 64-bit integers
// are a feature of their own, on their halves they are not.
#if defined(U64)
#define broadcast(x, invocation) packUint2x32(subgroupBroadcast(unpackUint2x32(x), invocation))
#else
#define broadcast(x, invocation) subgroupBroadcast(x, invocation)
#endif

// four_a loads four elements along k.
T4 four_a(uint i) {
    if (A_ACROSS == 1)
        return T4(A_ONE(i), A_ONE(i + p.lda), A_ONE(i + 2 * p.lda), A_ONE(i + 3 * p.lda));
    if ((ALIGNED & 1) != 0) return A_FOUR(i / 4);
    return T4(A_ONE(i), A_ONE(i + 1), A_ONE(i + 2), A_ONE(i + 3));
}

// four_b loads four elements along the contiguous dimension.
T4 four_b(uint i) {
#if !defined(NARROW)
    if ((ALIGNED & 2) != 0) return B_FOUR(i / 4);
#endif
    return T4(B_ONE(i), B_ONE(i + 1), B_ONE(i + 2), B_ONE(i + 3));
}

// four_rows_b loads four elements along k of eight columns: row j of columns 0
// to 3 is v[j], of columns 4 to 7 v[j + 4].
void four_rows_b(uint at, out T4 v[8]) {
    if (B_ACROSS == 0) {
        [[unroll]] for (uint j = 0; j < 4; j++) {
            v[j] = four_b(at + j * p.ldb);
            v[j + 4] = four_b(at + j * p.ldb + 4);
        }
        return;
    }
    T4 w[8];
    [[unroll]] for (uint i = 0; i < 8; i++) w[i] = four_b(at + i * p.ldb);
    [[unroll]] for (uint j = 0; j < 4; j++) {
        v[j] = T4(w[0][j], w[1][j], w[2][j], w[3][j]);
        v[j + 4] = T4(w[4][j], w[5][j], w[6][j], w[7][j]);
    }
}

// write stores the results of one row.
void write(uint at, T4 low, T4 high) {
    if ((ALIGNED & 4) != 0) {
        put_four(at / 4, low);
        put_four(at / 4 + 1, high);
        return;
    }
    [[unroll]] for (uint j = 0; j < 4; j++) {
        put_one(at + j * p.col_c, low[j]);
        put_one(at + (j + 4) * p.col_c, high[j]);
    }
}

void main() {
    const uint invocation = gl_LocalInvocationID.x;
    const uint batch = gl_WorkGroupID.z + p.first;
    // workgroups form one row, m fastest, so that B's columns stay in a cache,
    // folded into a grid of two dimensions
    const uint group = p.start + gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    const uint down = (p.m + ROWS - 1) / ROWS;
    if (group / down * SUBGROUP * 8 >= p.n) return;
    const uint m = min(group % down * ROWS, p.m - ROWS);
    const uint n = min(group / down * SUBGROUP * 8 + invocation * 8, p.n - 8);

    const uint row_a = A_ACROSS == 0 ? p.lda : 1, col_a = A_ACROSS == 0 ? 1 : p.lda;
    const uint row_b = B_ACROSS == 0 ? p.ldb : 1, col_b = B_ACROSS == 0 ? 1 : p.ldb;
    const uint a = batch * p.batch_a + (m + invocation % min(ROWS, SUBGROUP)) * row_a;
    const uint b = batch * p.batch_b + n * col_b;

    precise T4 low[ROWS], high[ROWS]; // columns 0 to 3 and 4 to 7
    [[unroll]] for (uint i = 0; i < ROWS; i++) low[i] = high[i] = T4(0);

    uint k = 0;
    for (; k + 4 <= p.k; k += 4) {
        T4 share[SHARE], vb[8];
        [[unroll]] for (uint h = 0; h < SHARE; h++)
            share[h] = four_a(a + h * SUBGROUP * row_a + k * col_a);
        four_rows_b(b + k * row_b, vb);
        [[unroll]] for (uint i = 0; i < ROWS; i++) {
            [[unroll]] for (uint j = 0; j < 4; j++) {
                const T4 v = T4(broadcast(share[i / SUBGROUP][j], i % SUBGROUP));
                low[i] = MULADD(v, vb[j], low[i]);
                high[i] = MULADD(v, vb[j + 4], high[i]);
            }
        }
    }
    for (; k < p.k; k++) {
        T4 l, h;
        [[unroll]] for (uint j = 0; j < 4; j++) {
            l[j] = B_ONE(b + k * row_b + j * col_b);
            h[j] = B_ONE(b + k * row_b + (j + 4) * col_b);
        }
        T share[SHARE];
        [[unroll]] for (uint i = 0; i < SHARE; i++) share[i] = A_ONE(a + i * SUBGROUP * row_a + k * col_a);
        [[unroll]] for (uint i = 0; i < ROWS; i++) {
            const T4 v = T4(broadcast(share[i / SUBGROUP], i % SUBGROUP));
            low[i] = MULADD(v, l, low[i]);
            high[i] = MULADD(v, h, high[i]);
        }
    }

    const uint c = batch * p.m * p.n + m * p.row_c + n * p.col_c;
    [[unroll]] for (uint i = 0; i < ROWS; i++) write(c + i * p.row_c, low[i], high[i]);
}
