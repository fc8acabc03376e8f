// What the kernels of attention for matrix hardware have in common: tiles, shared memory, and how elements of 16 bits are
// rounded.
//
// Operands are rows of whole vectors of 16 bytes, E elements. Rows of the operands of scores, queries and keys, have DEPTH
// elements; those of the values have WIDTH. What rows in memory have less is zero.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint MM = 16;     // rows of one matrix of sums
layout(constant_id = 2) const uint MN = 16;     // its columns, and the products of one instruction
layout(constant_id = 4) const uint WARPS = 4;   // subgroups
layout(constant_id = 5) const uint KEYS = 64;   // rows of a block that all subgroups read
layout(constant_id = 6) const uint DEPTH = 64;
layout(constant_id = 7) const uint WIDTH = 64;
layout(constant_id = 8) const uint FLAGS = 0;   // bits: each kernel has its own, but for these

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

// BASE_OF is the first row of matrix z.
#define BASE_OF(o, z) ((o).first + (z) / p.dim2 / p.dim1 * (o).z0 + (z) / p.dim2 % p.dim1 * (o).z1 + (z) % p.dim2 * (o).z2)

const uint THREADS = gl_WorkGroupSize.x;
const uint SUBGROUP = THREADS / WARPS;
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

// Matrices are loaded and stored at multiples of 16 bytes, as arrays of vectors begin, but not those of words.
shared uvec4 scratch[WARPS * MM * MN / 4];           // a matrix of each subgroup
shared vec4 places[MM * MN / 4];                     // element i, j has i · MN + j

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

// reduced joins the rows of a matrix that the subgroup has stored in scratch: their sums, or their
// maxima, which are in its first MM elements afterwards.
void reduced(const uint base, const uint invocation, const bool sums) {
    together();
    float r[(MM + SUBGROUP - 1) / SUBGROUP];
    [[unroll]] for (uint n = 0; n < (MM + SUBGROUP - 1) / SUBGROUP; n++) {
        const uint row = min(invocation + n * SUBGROUP, MM - 1);
        r[n] = uintBitsToFloat(WORD(base + row * MN + row % MN));
        [[dont_unroll]] for (uint i = 1; i < MN; i++) {
            const float x = uintBitsToFloat(WORD(base + row * MN + (row + i) % MN));
            r[n] = sums ? r[n] + x : x > r[n] || isnan(x) ? x : r[n];
        }
    }
    together();
    [[unroll]] for (uint n = 0; n < (MM + SUBGROUP - 1) / SUBGROUP; n++)
        if (invocation + n * SUBGROUP < MM) WORD(base + invocation + n * SUBGROUP) = floatBitsToUint(r[n]);
    together();
}

// FETCH loads the vectors of a block of rows that an invocation moves, of LIMIT rows in all.
#define FETCH(to, operand, base, stride, per, count, columns, zeros)              \
    [[unroll]] for (uint n = 0; n < count; n++) {                                \
        const uint e = gl_LocalInvocationIndex + n * THREADS, x = e % per;       \
        const uint y = from + e / per;                                           \
        const bool inside = x < (columns) && !((zeros) && y >= LIMIT);          \
        to[n] = inside ? operand.v[base + min(y, LIMIT - 1) * (stride) + x] : uvec4(0); \
    }

// STORE stores them in shared memory.
#define STORE(first, from, per, pitch, count)                                    \
    [[unroll]] for (uint n = 0; n < count; n++) {                                \
        const uint e = gl_LocalInvocationIndex + n * THREADS;                    \
        if (KEYS * per % THREADS == 0 || e < KEYS * per) slices[(first) + e / per * (pitch) + e % per] = from[n]; \
    }

// AS_OPERAND has a matrix of sums as an operand, rounded: in registers, or by way of the subgroup's scratch, which
// begins at element own.
#define AS_OPERAND(to, sums, own, invocation)                                                               \
    if (ALIKE) {                                                                                            \
        [[unroll]] for (uint c = 0; c < (sums).length(); c++) (to)[c] = OT((sums)[c]);                      \
    } else {                                                                                                \
        coopMatStore(sums, scratch, (own) / 4, MN / 4, gl_CooperativeMatrixLayoutRowMajor);                 \
        together();                                                                                         \
        uint packed[MM * MN / 2 / SUBGROUP];                                                                \
        [[unroll]] for (uint n = 0; n < MM * MN / 2 / SUBGROUP; n++) {                                      \
            const uint e = (own) + 2 * ((invocation) + n * SUBGROUP);                                       \
            packed[n] = nearest(uintBitsToFloat(uvec2(WORD(e), WORD(e + 1))));                              \
        }                                                                                                   \
        together();                                                                                         \
        [[unroll]] for (uint n = 0; n < MM * MN / 2 / SUBGROUP; n++) WORD((own) + (invocation) + n * SUBGROUP) = packed[n]; \
        together();                                                                                         \
        coopMatLoad(to, scratch, (own) / 4, MN / 8, gl_CooperativeMatrixLayoutRowMajor);                    \
        together();                                                                                         \
    }
