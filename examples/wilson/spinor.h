// SPDX-License-Identifier: BSD-3-Clause
// Wilson spinors, and the three steps of a hop: project, multiply with a link, reconstruct.
//
// The gamma matrices are in the DeGrand-Rossi basis, in which each is made of a 2x2 block B and its
// adjoint,
//     gamma_mu = ( 0   B )        B_x = ( 0 i )  B_y = ( 0 -1 )  B_z = ( i  0 )  B_t = ( 1 0 )
//                ( B^+ 0 )              ( i 0 )        ( 1  0 )        ( 0 -i )        ( 0 1 )
// and gamma_5 = gamma_x gamma_y gamma_z gamma_t = diag(1, 1, -1, -1).
// With that form (1 + s gamma) psi has the upper half h = up + s B lo and the lower half s B^+ h.
// So only half a spinor, 12 numbers instead of 24, is multiplied by the link and sent to a
// neighbour.
//
// Two spin components of one colour are adjacent: (spin a: re, im, spin b: re, im). A link element
// multiplies all four numbers alike, which fills one 256-bit register. The vector type is an
// extension that GCC and Clang share; on a machine without such registers the compiler uses smaller
// ones. Plain values; any thread may call.
#pragma once

#include "su3.h"

namespace wilson {

typedef double V4 __attribute__((vector_size(32)));

struct HalfSpinor {
    V4 c[3];  // by colour
};

struct Spinor {
    V4 up[3];  // spins 0 and 1, by colour
    V4 lo[3];  // spins 2 and 3
};

// Real numbers in a spinor and in half of one; the whole example counts flops and bytes with these.
inline constexpr int spinor_reals = 24;
static_assert(sizeof(Spinor) == spinor_reals * sizeof(double));
static_assert(sizeof(HalfSpinor) == sizeof(Spinor) / 2);

#define WILSON_INLINE [[gnu::always_inline]] inline

// s B v, with s = +1 or -1 folded into the constants.
template <int Mu, int S>
WILSON_INLINE V4 times_block(const V4& v) {
    if constexpr (Mu == 0) return __builtin_shufflevector(v, v, 3, 2, 1, 0) * V4{-S, S, -S, S};
    if constexpr (Mu == 1) return __builtin_shufflevector(v, v, 2, 3, 0, 1) * V4{-S, -S, S, S};
    if constexpr (Mu == 2) return __builtin_shufflevector(v, v, 1, 0, 3, 2) * V4{-S, S, S, -S};
    if constexpr (Mu == 3) return v * V4{S, S, S, S};
}

// s B^+ v: the blocks of x, y and z are antihermitian, the block of t is hermitian.
template <int Mu, int S>
WILSON_INLINE V4 times_block_adjoint(const V4& v) {
    return times_block < Mu, Mu == 3 ? S : -S > (v);
}

// The upper half of (1 + S gamma_Mu) psi.
template <int Mu, int S>
WILSON_INLINE void project(HalfSpinor& h, const Spinor& psi) {
    for (int c = 0; c < 3; ++c) h.c[c] = psi.up[c] + times_block<Mu, S>(psi.lo[c]);
}

// Adds the whole spinor whose upper half is h, in the image of (1 + S gamma_Mu).
template <int Mu, int S>
WILSON_INLINE void accumulate(Spinor& sum, const HalfSpinor& h) {
    for (int c = 0; c < 3; ++c) {
        sum.up[c] += h.c[c];
        sum.lo[c] += times_block_adjoint<Mu, S>(h.c[c]);
    }
}

WILSON_INLINE V4 times_i(const V4& v) {
    return __builtin_shufflevector(v, v, 1, 0, 3, 2) * V4{-1, 1, -1, 1};
}

// out = u h
WILSON_INLINE void multiply(HalfSpinor& out, const Su3& u, const HalfSpinor& h) {
    const V4 ih[3] = {times_i(h.c[0]), times_i(h.c[1]), times_i(h.c[2])};
    for (int r = 0; r < 3; ++r) {
        V4 sum = u.e[r][0].real() * h.c[0] + u.e[r][0].imag() * ih[0];
        for (int c = 1; c < 3; ++c)
            sum = sum + u.e[r][c].real() * h.c[c] + u.e[r][c].imag() * ih[c];
        out.c[r] = sum;
    }
}

// out = u^+ h
WILSON_INLINE void multiply_adjoint(HalfSpinor& out, const Su3& u, const HalfSpinor& h) {
    const V4 ih[3] = {times_i(h.c[0]), times_i(h.c[1]), times_i(h.c[2])};
    for (int r = 0; r < 3; ++r) {
        V4 sum = u.e[0][r].real() * h.c[0] - u.e[0][r].imag() * ih[0];
        for (int c = 1; c < 3; ++c)
            sum = sum + u.e[c][r].real() * h.c[c] - u.e[c][r].imag() * ih[c];
        out.c[r] = sum;
    }
}

// One component, for code that need not be fast. spin 0..3, colour 0..2.
inline Complex component(const Spinor& s, int spin, int colour) {
    const V4& v = spin < 2 ? s.up[colour] : s.lo[colour];
    return {v[2 * (spin % 2)], v[2 * (spin % 2) + 1]};
}

inline void set_component(Spinor& s, int spin, int colour, Complex z) {
    V4& v = spin < 2 ? s.up[colour] : s.lo[colour];
    v[2 * (spin % 2)] = z.real();
    v[2 * (spin % 2) + 1] = z.imag();
}

}  // namespace wilson
