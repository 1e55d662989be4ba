// SPDX-License-Identifier: BSD-3-Clause
// SU(3) matrices: the gauge links of the lattice.
//
// Plain values, row-major, 18 doubles each (144 bytes). This file is independent of ranks and
// messages, and any thread may call every function. The operators are written for clarity: they are
// used for set-up and the plaquette. The fast kernel, a link times a half spinor, is in spinor.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>

namespace wilson {

using Complex = std::complex<double>;

struct Su3 {
    Complex e[3][3] = {};
};

inline Su3 identity() {
    Su3 u;
    for (int i = 0; i < 3; ++i) u.e[i][i] = 1.0;
    return u;
}

inline Su3 operator*(const Su3& a, const Su3& b) {
    Su3 c;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            for (int j = 0; j < 3; ++j) c.e[i][j] += a.e[i][k] * b.e[k][j];
    return c;
}

inline Su3 adjoint(const Su3& a) {
    Su3 c;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) c.e[i][j] = std::conj(a.e[j][i]);
    return c;
}

inline double real_trace(const Su3& a) {
    return a.e[0][0].real() + a.e[1][1].real() + a.e[2][2].real();
}

inline Complex determinant(const Su3& a) {
    const auto& e = a.e;
    return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
           e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
           e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
}

// The last row of a special unitary matrix is the conjugate of the cross product of the other two.
inline void complete_third_row(Su3& u) {
    for (int j = 0; j < 3; ++j) {
        const int k = (j + 1) % 3, l = (j + 2) % 3;
        u.e[2][j] = std::conj(u.e[0][k] * u.e[1][l] - u.e[0][l] * u.e[1][k]);
    }
}

// Gram-Schmidt on the first two rows, then the third by the rule above. The rows must not be
// parallel.
inline void make_special_unitary(Su3& u) {
    const auto normalise = [](Complex(&row)[3]) {
        double norm = 0;
        for (const Complex& z : row) norm += std::norm(z);
        for (Complex& z : row) z /= std::sqrt(norm);
    };
    normalise(u.e[0]);
    Complex overlap = 0;
    for (int j = 0; j < 3; ++j) overlap += std::conj(u.e[0][j]) * u.e[1][j];
    for (int j = 0; j < 3; ++j) u.e[1][j] -= overlap * u.e[0][j];
    normalise(u.e[1]);
    complete_third_row(u);
}

// The largest element of |u u^dagger - 1|: how far u is from unitary.
inline double distance_from_unitary(const Su3& u) {
    const Su3 product = u * adjoint(u);
    double worst = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            worst = std::max(worst, std::abs(product.e[i][j] - (i == j ? 1.0 : 0.0)));
    return worst;
}

}  // namespace wilson
