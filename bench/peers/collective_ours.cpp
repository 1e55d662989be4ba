// SPDX-License-Identifier: BSD-3-Clause
// collective.h over torusmp's collectives, because QMP does not have all of them. "scatter_apart"
// is scatter with the algorithm apart.
#include "collective.h"

#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bench/torus_bench/collective_calls.h"
#include "job/process.h"

extern "C" {
#include "net.h"
}

using namespace torusmp;

namespace {

// Outside the ranges of QMP, which counts up from 0x40000000, and MPI, which is below.
constexpr core::Context context = 0x7fffffe0;

// The group of all ranks. Made for each collective, and destroyed before QMP ends.
std::unique_ptr<collectives::Group> everybody() {
    std::vector<core::Rank> members(static_cast<std::size_t>(net_size()));
    std::iota(members.begin(), members.end(), 0);
    job::Process& process = *job::Process::acquire(false);  // owned by QMP
    return std::make_unique<collectives::Group>(process.runtime(), members, context,
                                                process.collective_policy());
}

}  // namespace

struct Collective {
    std::unique_ptr<collectives::Group> group;
    std::unique_ptr<bench::CollectiveCall> call;
};

Collective* collective_make(const char* operation, void* in, void* out, size_t bytes) try {
    std::string name = operation, algorithm = "automatic";
    if (!bench::find_collective(name)) {
        const auto underscore = name.rfind('_');
        if (underscore == std::string::npos) return nullptr;
        algorithm = name.substr(underscore + 1);
        name.resize(underscore);
        if (!bench::find_collective(name)) return nullptr;
    }
    auto made = std::make_unique<Collective>();
    made->group = everybody();
    made->call = bench::make_collective(*made->group, name, algorithm, in, out, bytes);
    return made.release();
} catch (const std::exception& error) {
    net_abort(error.what());
    return nullptr;
}

void collective_call(Collective* collective) try {
    collective->call->run();
} catch (const std::exception& error) {
    net_abort(error.what());
}

void collective_free(Collective* collective) {
    const std::unique_ptr<Collective> freed(collective);
}
