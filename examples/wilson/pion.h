// SPDX-License-Identifier: BSD-3-Clause
// Solves M x = b to a true residual, and computes the pion correlator from such solutions.
//
// Calls are collective, from the thread that uses QMP; all ranks get the same result.
#pragma once

#include <span>
#include <vector>

#include "cg.h"

namespace wilson {

struct Accuracy {
    double tolerance = 0;  // of |b - M x| / |b|; 0 for all iterations
    int iterations = 0;    // at most
};

struct TrueSolution {
    std::vector<Spinor> x;
    int iterations = 0;
    int restarts = 0;     // because the recursion was below the tolerance and b - M x was not
    double residual = 0;  // |b - M x| / |b|, computed from M, x and b only
    bool converged = false;
};

// Time of the conjugate gradient on this rank, without the measurements around it.
struct SolverTime {
    Stopwatch total;
    double communication = 0;  // seconds of it
};

// Solves on the even sites and reconstructs the odd ones. If the true residual is above the
// tolerance although the recursion's is not, the solver restarts from x, as long as that helps: the
// limit is the floating-point precision. The restarts count as iterations.
TrueSolution solve_truly(WilsonOperator& m, std::span<const Spinor> b, const Accuracy& accuracy,
                         SolverTime& time, Stopwatch& communication);

// C(t) = sum over space of tr S(x, 0) S(x, 0)^+ for all t, where S(x, 0) is the propagator from the
// origin: 12 solutions.
struct PionCorrelator {
    std::vector<double> c;
    int iterations = 0;         // of all sources
    int most_iterations = 0;    // of one source
    double worst_residual = 0;  // of all sources
    bool converged = true;
};
PionCorrelator pion_correlator(WilsonOperator& m, const Accuracy& accuracy, SolverTime& time,
                               Stopwatch& communication);

}  // namespace wilson
