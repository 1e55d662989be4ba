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

// Both norms in one message: the cost of a sum is latency, not length. Returns the new |z|^2.
double sum_norms(Iteration& state, std::span<const Spinor> z, const Sum& sum) {
    double norms[] = {local_norm2(z), local_norm2(state.r)};
    sum(norms);
    state.r2 = norms[1];
    return norms[0];
}

}  // namespace

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

void begin(Iteration& state, const Operator& a, std::span<Spinor> z, const Sum& sum) {
    a(z, state.r, Dagger::yes);
    std::ranges::copy(z, state.p.begin());
    state.z2 = sum_norms(state, z, sum);
}

void take_step(Iteration& state, const Operator& a, std::span<Spinor> z, std::span<Spinor> w,
               const Sum& sum) {
    a(w, state.p, Dagger::no);
    double w2 = local_norm2(w);
    sum({&w2, 1});
    const double alpha = state.z2 / w2;
    add_scaled(state.x, alpha, state.p);
    add_scaled(state.r, -alpha, w);
    a(z, state.r, Dagger::yes);
    const double z2 = sum_norms(state, z, sum);
    scale_and_add(state.p, z2 / state.z2, z);
    state.z2 = z2;
}

Solution solve(const Operator& a, std::span<Spinor> x, std::span<const Spinor> b, double tolerance,
               int most_iterations, Stopwatch& communication) {
    std::vector<Spinor> r(b.begin(), b.end()), z(b.size()), p(b.size()), w(b.size());
    const Sum sum = [&](std::span<double> values) { global_sum(values, communication); };
    a(w, x, Dagger::no);
    add_scaled(r, -1, w);
    const double source = norm2(b, communication);
    Iteration state{.x = x, .r = r, .p = p};
    begin(state, a, z, sum);
    const double goal = std::max(tolerance * tolerance, smallest_ratio) * source;
    Solution result;
    while (state.r2 > goal && result.iterations < most_iterations) {
        take_step(state, a, z, w, sum);
        ++result.iterations;
    }
    result.converged = state.r2 <= goal;
    result.residual = source > 0 ? std::sqrt(state.r2 / source) : 0;
    return result;
}

}  // namespace wilson
