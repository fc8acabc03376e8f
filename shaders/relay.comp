#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"

// A rank's part in a collective of few bytes, while the other ranks carry out theirs: it passes its operand to the host, and waits
// for the host to pass it the result.
//
// Each word travels with the number of the turn, in 8 bytes that arrive at once: whoever finds that number has the word,
// and nothing else tells that it is there (as in the protocol LL of NCCL). The outbox is memory of the host. The inbox is memory of the device,
// which the host writes: caches keep the device from seeing what is written to memory of the host while a kernel runs.
//
// The inbox begins with ENDED words. The one of a turn has the number of the turn where that has ended without a
// result.
//
// ADDRESSES: the push constants begin with the 64-bit addresses of the buffers. BINDINGS: they are storage buffers 0 to 4 of set 0.

layout(local_size_x = 256) in;

const uint ENDED = 256;

// Sixteen looks at a word that has not come.
#define LOOK if (uint(x >> 32) != p.turn) x = INBOX.v[ENDED + w];
#define LOOK_4 LOOK LOOK LOOK LOOK
#define LOOK_16 LOOK_4 LOOK_4 LOOK_4 LOOK_4

#define PARAMETERS                                                \
    uint send, receive; /* words */                               \
    uint turn;                                                    \
    uint patience;      /* sixteen looks each at a word that does not come */

#if defined(ADDRESSES)

layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer Operand { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) volatile buffer Box { uint64_t v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Result { uint v[]; };

layout(push_constant, std430) uniform Push {
    Operand operand;
    Box outbox;
    Box inbox;
    Result result;
    Result missed;
    PARAMETERS
} p;

#define OPERAND p.operand
#define OUTBOX p.outbox
#define INBOX p.inbox
#define RESULT p.result
#define MISSED p.missed

#elif defined(BINDINGS)

layout(push_constant, std430) uniform Push { PARAMETERS } p;

layout(set = 0, binding = 0, std430) restrict readonly buffer Operand { uint v[]; } operand;
layout(set = 0, binding = 1, std430) volatile buffer Outbox { uint64_t v[]; } outbox;
layout(set = 0, binding = 2, std430) volatile buffer Inbox { uint64_t v[]; } inbox;
layout(set = 0, binding = 3, std430) restrict writeonly buffer Result { uint v[]; } result;
layout(set = 0, binding = 4, std430) restrict writeonly buffer Missed { uint v[]; } missed;

#define OPERAND operand
#define OUTBOX outbox
#define INBOX inbox
#define RESULT result
#define MISSED missed

#endif

void main() {
    const uint all = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    const uint64_t turn = uint64_t(p.turn) << 32;
    for (uint w = gl_GlobalInvocationID.x; w < p.send; w += all) OUTBOX.v[w] = turn | uint64_t(OPERAND.v[w]);
    barrier(); // none of the workgroup waits before all have sent
    for (uint w = gl_GlobalInvocationID.x; w < p.receive; w += all) {
        uint64_t x = INBOX.v[ENDED + w];
        for (uint left = p.patience; uint(x >> 32) != p.turn && left > 0; left--) {
            LOOK_16
            if (uint(INBOX.v[p.turn % ENDED]) == p.turn) break;
        }
        if (uint(x >> 32) != p.turn) { // also where a driver bounds loops
            MISSED.v[0] = 1;
            return;
        }
        RESULT.v[w] = uint(x);
    }
}
