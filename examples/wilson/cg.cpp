// SPDX-License-Identifier: BSD-3-Clause
#include "cg.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wilson {

namespace {

// The recursion reduces r below the smallest value that b - A x can reach. It must end before
// squares underflow and 0 / 0 corrupts x.
constexpr double smallest_ratio = 1e-200;

double across(const V4& v) {
    return (v[0] + v[1]) + (v[2] + v[3]);
}

WILSON_INLINE void add_squares(V4& sum, const Spinor& s) {
    for (int c = 0; c < 3; ++c) sum += s.up[c] * s.up[c] + s.lo[c] * s.lo[c];
}

}  // namespace

double local_norm2(std::span<const Spinor> v) {
    V4 sum{};
    for (const Spinor& s : v) add_squares(sum, s);
    return across(sum);
}

void add_scaled(std::span<Spinor> y, double a, std::span<const Spinor> x) {
    for (std::size_t i = 0; i < y.size(); ++i)
        for (int c = 0; c < 3; ++c) {
            y[i].up[c] += a * x[i].up[c];
            y[i].lo[c] += a * x[i].lo[c];
        }
}

void scale_and_add(std::span<Spinor> y, double a, std::span<const Spinor> x) {
    for (std::size_t i = 0; i < y.size(); ++i)
        for (int c = 0; c < 3; ++c) {
            y[i].up[c] = x[i].up[c] + a * y[i].up[c];
            y[i].lo[c] = x[i].lo[c] + a * y[i].lo[c];
        }
}

double norm2(std::span<const Spinor> v, Stopwatch& communication) {
    double sum = local_norm2(v);
    global_sum({&sum, 1}, communication);
    return sum;
}

Complex local_inner_product(std::span<const Spinor> a, std::span<const Spinor> b) {
    Complex sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (int spin = 0; spin < 4; ++spin)
            for (int colour = 0; colour < 3; ++colour)
                sum += std::conj(component(a[i], spin, colour)) * component(b[i], spin, colour);
    return sum;
}

Solution solve(const Operator& a, std::span<Spinor> x, std::span<const Spinor> b, double tolerance,
               int most_iterations, Stopwatch& communication) {
    std::vector<Spinor> r(b.begin(), b.end()), z(b.size()), p(b.size()), w(b.size());
    a(w, x, Dagger::no);
    add_scaled(r, -1, w);
    a(z, r, Dagger::yes);
    p = z;

    const double source = norm2(b, communication);
    double z2 = norm2(z, communication);
    double r2 = norm2(r, communication);
    const double goal = std::max(tolerance * tolerance, smallest_ratio) * source;
    Solution result;
    while (r2 > goal && result.iterations < most_iterations) {
        a(w, p, Dagger::no);
        const double alpha = z2 / norm2(w, communication);
        add_scaled(x, alpha, p);
        add_scaled(r, -alpha, w);
        a(z, r, Dagger::yes);
        // Both norms in one message: the cost of a sum is latency, not length.
        double norms[] = {local_norm2(z), local_norm2(r)};
        global_sum(norms, communication);
        scale_and_add(p, norms[0] / z2, z);
        z2 = norms[0];
        r2 = norms[1];
        ++result.iterations;
    }
    result.converged = r2 <= goal;
    result.residual = source > 0 ? std::sqrt(r2 / source) : 0;
    return result;
}

}  // namespace wilson
