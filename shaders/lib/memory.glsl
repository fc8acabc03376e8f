// Operands a and b and result c of a kernel, in either memory mode, beside its
// parameters. A kernel defines PARAMETERS and then reads
//
//   A_ONE(i) A_VEC(i) A_FOUR(i)   element i, or vector i of V or of 4 elements
//   A_ANY(i)                      V elements from element i on, wherever that is
//   B_ONE(i) B_VEC(i) B_FOUR(i) B_ANY(i)   the same of b
//
// and writes results by put_one(i, x), put_vec(i, v) and put_four(i, v), of which
// i counts as above.
//
// ADDRESSES: the push constants begin with the 64-bit addresses of a, b and c.
// BINDINGS: a, b and c are storage buffers 0, 1 and 2 of set 0, each seen
// through a block of every width.

#ifndef NXVK_MEMORY
#define NXVK_MEMORY

#if defined(ADDRESSES)

layout(buffer_reference, std430, buffer_reference_align = SIZE) restrict readonly buffer InOne { T v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer InVec { TV v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer InFour { T4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = SIZE) restrict readonly buffer InAny { TV v; };
layout(buffer_reference, std430, buffer_reference_align = SIZE) restrict writeonly buffer OutOne { T v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict writeonly buffer OutVec { TV v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict writeonly buffer OutFour { T4 v[]; };

layout(push_constant, std430) uniform Push {
    InOne a;
    InOne b;
    OutOne c;
    PARAMETERS
} p;

#define A_ONE(i) p.a.v[i]
#define A_VEC(i) InVec(p.a).v[i]
#define A_FOUR(i) InFour(p.a).v[i]
#define A_ANY(i) InAny(uint64_t(p.a) + uint64_t(i) * SIZE).v
#define B_ONE(i) p.b.v[i]
#define B_VEC(i) InVec(p.b).v[i]
#define B_FOUR(i) InFour(p.b).v[i]
#define B_ANY(i) InAny(uint64_t(p.b) + uint64_t(i) * SIZE).v
#define C_ONE(i) p.c.v[i]
#define C_VEC(i) OutVec(p.c).v[i]
#define C_FOUR(i) OutFour(p.c).v[i]

#elif defined(BINDINGS)

layout(push_constant, std430) uniform Push { PARAMETERS } p;

layout(set = 0, binding = 0, std430) readonly buffer AOne { T v[]; } a_one;
layout(set = 0, binding = 0, std430) readonly buffer AVec { TV v[]; } a_vec;
layout(set = 0, binding = 0, std430) readonly buffer AFour { T4 v[]; } a_four;
layout(set = 0, binding = 1, std430) readonly buffer BOne { T v[]; } b_one;
layout(set = 0, binding = 1, std430) readonly buffer BVec { TV v[]; } b_vec;
layout(set = 0, binding = 1, std430) readonly buffer BFour { T4 v[]; } b_four;
layout(set = 0, binding = 2, std430) writeonly buffer COne { T v[]; } c_one;
layout(set = 0, binding = 2, std430) writeonly buffer CVec { TV v[]; } c_vec;
layout(set = 0, binding = 2, std430) writeonly buffer CFour { T4 v[]; } c_four;

#define A_ONE(i) a_one.v[i]
#define A_VEC(i) a_vec.v[i]
#define A_FOUR(i) a_four.v[i]
#define A_ANY(i) ANY(A_ONE, i)
#define B_ONE(i) b_one.v[i]
#define B_VEC(i) b_vec.v[i]
#define B_FOUR(i) b_four.v[i]
#define B_ANY(i) ANY(B_ONE, i)
#define C_ONE(i) c_one.v[i]
#define C_VEC(i) c_vec.v[i]
#define C_FOUR(i) c_four.v[i]

#if V == 4
#define ANY(one, i) TV(one(i), one((i) + 1), one((i) + 2), one((i) + 3))
#else
#define ANY(one, i) TV(one(i), one((i) + 1))
#endif

#else
#error "ADDRESSES or BINDINGS must be defined"
#endif

// Results leave through these functions alone. synth/spirv.Splice has others in
// their place where something is done to results before they are stored: it knows
// them by what they take and give: an index and one or more elements, or a vector of
// indices and as many vectors, and nothing. Whoever gives several vectors at once has
// what is done to them read its operands for all of them before it stores any.
void put_one(const uint i, const T x) { C_ONE(i) = x; }
void put_vec(const uint i, const TV x) { C_VEC(i) = x; }
void put_four(const uint i, const T4 x) { C_FOUR(i) = x; }
void put_vecs(const uvec4 i, const TV x, const TV y, const TV z, const TV w) {
    C_VEC(i.x) = x;
    C_VEC(i.y) = y;
    C_VEC(i.z) = z;
    C_VEC(i.w) = w;
}

// Four vectors of results on their way to memory, of which some may lie beyond the matrix:
// one that does not takes their place.
struct Leaving {
    bool any;
    bvec4 inside;
    uvec4 at;
    TV v[4];
};

void put_leaving(Leaving l) {
    if (!l.any) return;
    const uint k = l.inside.x ? 0 : l.inside.y ? 1 : l.inside.z ? 2 : 3;
    const uint at = l.at[k];
    const TV v = k == 0 ? l.v[0] : k == 1 ? l.v[1] : k == 2 ? l.v[2] : l.v[3];
    [[unroll]] for (uint j = 0; j < 4; j++) {
        if (l.inside[j]) continue;
        l.at[j] = at;
        l.v[j] = v;
    }
    put_vecs(l.at, l.v[0], l.v[1], l.v[2], l.v[3]);
}

#endif
