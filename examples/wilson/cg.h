// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients for A x = b with an A that is not hermitian: CG on the normal equations A^+ A
// x = A^+ b.
//
// This form updates r = b - A x itself (CGNR, or CGLS), so the tolerance is for |r| / |b|, which
// users expect, and not for the residual of the normal equations. Each iteration applies A and A^+
// once and needs two global sums.
//
// Fields are spans over the sites of this rank. Calls are collective, from the thread that uses
// QMP.
#pragma once

#include <functional>
#include <span>

#include "dslash.h"

namespace wilson {

using Operator = std::function<void(std::span<Spinor> out, std::span<const Spinor> in, Dagger)>;

// Adds each value over all ranks, in place.
using Sum = std::function<void(std::span<double>)>;

// The state of the iteration, for callers that keep it: r = b - A x.
struct Iteration {
    std::span<Spinor> x, r, p;
    double z2 = 0, r2 = 0;  // |A^+ r|^2 and |r|^2
};
// Begins with x and r as they are, and takes a step; z and w are scratch.
void begin(Iteration& state, const Operator& a, std::span<Spinor> z, const Sum& sum);
void take_step(Iteration& state, const Operator& a, std::span<Spinor> z, std::span<Spinor> w,
               const Sum& sum);

struct Solution {
    int iterations = 0;
    double residual = 0;  // |r| / |b| from the recursion
    bool converged = false;
};

// x is the first guess and the result. With a tolerance of 0 all iterations are done, for timing,
// unless the residual of the recursion falls below 1e-100, where it is meaningless.
Solution solve(const Operator& a, std::span<Spinor> x, std::span<const Spinor> b, double tolerance,
               int most_iterations, Stopwatch& communication);

// Additions and multiplications on the vectors in an iteration, for each site of the field.
inline constexpr double solver_flops_a_site = 12.0 * spinor_reals;

// |v|^2, over all ranks.
double norm2(std::span<const Spinor> v, Stopwatch& communication);
// The part of <a, b> on this rank, antilinear in a.
Complex local_inner_product(std::span<const Spinor> a, std::span<const Spinor> b);

}  // namespace wilson
