// The memory of attention_matrix.comp: its parameters, the operands, shared memory, and the results.
//
// Operands are rows of whole vectors of 16 bytes, E elements. A row of queries or keys has p.depth
// vectors, a row of values p.width; what DEPTH and WIDTH are more is zero.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint MM = 16;     // rows of one matrix of sums
layout(constant_id = 2) const uint MN = 16;     // its columns, and the products of one instruction
layout(constant_id = 3) const uint FM = 2;      // matrices along the queries, a subgroup
layout(constant_id = 4) const uint WARPS = 4;   // subgroups
layout(constant_id = 5) const uint KEYS = 64;   // of a block
layout(constant_id = 6) const uint DEPTH = 64;  // elements of a query and of a key
layout(constant_id = 7) const uint WIDTH = 64;  // elements of a value
layout(constant_id = 8) const uint FLAGS = 0;   // bits: see below

const bool WHOLE = (FLAGS & 1) != 0;   // rows of results are whole vectors
const bool LOGITS = (FLAGS & 2) != 0;  // logits are more than scaled scores, or rows are wide
const bool SKIPS = (FLAGS & 4) != 0;   // a mask leaves whole tiles out
const bool DIVIDES = (FLAGS & 8) != 0; // scores are divided by the scale
const bool LOCKSTEP = (FLAGS & 16) != 0; // see together
const bool ALIKE = (FLAGS & 32) != 0;    // operands lie as sums do: an invocation has the same elements of both

layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer In { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict writeonly buffer OutVec { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) restrict writeonly buffer OutOne { uint16_t v[]; };

// Where an operand lies, in vectors: the first row, and the distances of rows and of the matrices
// along three axes of the batch.
struct Lies {
    uint first, row, z0, z1, z2;
};

layout(push_constant, std430) uniform Push {
    In q;
    In k;
    In v;
    OutVec c;
    uint queries, keys;
    uint depth, width;     // vectors of a row; width counts elements
    uint blocks, groups;   // of queries in a matrix, and workgroups
    uint dim1, dim2;       // sizes of the inner axes of the batch
    Lies at_q, at_k, at_v;
    float scale;           // of scores
} p;

const uint THREADS = gl_WorkGroupSize.x;
const uint SUBGROUP = THREADS / WARPS;
const uint TILE = MM * FM * WARPS; // queries of a workgroup
const uint DK = DEPTH / MN;
const uint DV = WIDTH / MN;
const uint KT = KEYS / MN;
const uint ROW_K = DEPTH / E;
const uint ROW_V = WIDTH / E;

// Rows in shared memory have an odd number of vectors, which spreads eight of them over all banks.
const uint PITCH_K = ROW_K | 1;
const uint PITCH_V = ROW_V | 1;
const uint SIZE_K = KEYS * PITCH_K;
const uint COUNT_K = (KEYS * ROW_K + THREADS - 1) / THREADS; // vectors that an invocation moves
const uint COUNT_V = (KEYS * ROW_V + THREADS - 1) / THREADS;

// Results leave LEAVE matrices of each subgroup at a time.
const uint LEAVE = DV % 4 == 0 ? 4 : DV % 3 == 0 ? 3 : DV % 2 == 0 ? 2 : 1;
const uint LEAVE_ROW = LEAVE * MN / 4 + 1;

const uint BLOCK = SIZE_K + KEYS * PITCH_V;
const uint BEGIN = TILE * PITCH_K > WARPS * MM * LEAVE_ROW ? TILE * PITCH_K : WARPS * MM * LEAVE_ROW;
shared uvec4 slices[BLOCK > BEGIN ? BLOCK : BEGIN]; // queries; then blocks of keys and values; then results
// Matrices are loaded and stored at multiples of 16 bytes, as arrays of vectors begin, but not those of words.
shared uvec4 scratch[WARPS * MM * MN / 4];           // a matrix of each subgroup
shared vec4 places[MM * MN / 4];                     // element i, j has i · MN + j
shared uint unsettled;

#define WORD(e) scratch[(e) / 4][(e) % 4]

#define MatrixA coopmat<OT, gl_ScopeSubgroup, MM, MN, gl_MatrixUseA>
#define MatrixB coopmat<OT, gl_ScopeSubgroup, MN, MN, gl_MatrixUseB>
#define Sums coopmat<float, gl_ScopeSubgroup, MM, MN, gl_MatrixUseAccumulator>

const float INFINITE = uintBitsToFloat(0x7f800000);

// together has what the subgroup has written to shared memory visible to all of it. A processor runs a
// subgroup in lockstep; lavapipe takes a barrier of a subgroup for one of the workgroup, which not all
// subgroups come to.
void together() {
    if (LOCKSTEP) subgroupMemoryBarrierShared();
    else subgroupBarrier();
}

// nearest packs two numbers as operands, rounded to the nearest.
uint nearest(const vec2 x) {
#if defined(F16)
    return packHalf2x16(x);
#else
    const uvec2 b = floatBitsToUint(x);
    const uvec2 up = b + 0x7fff + (b >> 16 & 1);
    const uvec2 r = mix(up >> 16, uvec2(0x7fc0), greaterThan(b & 0x7fffffff, uvec2(0x7f800000)));
    return r.x | r.y << 16;
#endif
}

// stored packs two results as memory has them: f16 is rounded to the nearest, bf16 is cut off.
uint stored(const vec2 x) {
    const bvec2 none = greaterThan(floatBitsToUint(x) & 0x7fffffff, uvec2(0x7f800000));
#if defined(F16)
    const uint r = packHalf2x16(x);
    return (none.x ? 0x7e00 : r & 0xffff) | (none.y ? 0x7e00 : r >> 16) << 16;
#else
    const uvec2 b = mix(floatBitsToUint(x), uvec2(0x7fc00000), none);
    return b.x >> 16 | b.y & 0xffff0000;
#endif
}

// leave stores a line of LEAVE matrices of the subgroup, which begin at a row and a column of
// matrix z of the results.
void leave(const uint from, const uint lane, const uint row, const uint column, const uint z) {
    const uint line = LEAVE * MN / E;
    [[dont_unroll]] for (uint e = lane; e < MM * line; e += SUBGROUP) {
        const uint m = row + e / line, n = column + e % line * E, at = from + e / line * LEAVE_ROW + e % line * (E / 4);
        if (m >= p.queries || n >= p.width) continue;
        const vec4 lo = uintBitsToFloat(slices[at]), hi = uintBitsToFloat(slices[at + 1]);
        const uvec4 x = uvec4(stored(lo.xy), stored(lo.zw), stored(hi.xy), stored(hi.zw));
        const uint to = (z * p.queries + m) * p.width + n;
        if (WHOLE) {
            p.c.v[to / E] = x;
        } else {
            [[dont_unroll]] for (uint i = 0; i < min(E, p.width - n); i++)
                OutOne(p.c).v[to + i] = uint16_t(x[i / 2] >> i % 2 * 16);
        }
    }
}
