// SPDX-License-Identifier: BSD-3-Clause
// Detects launchers by the variables they set in the environment of their processes. Each one
// counts only if it started more than one process, or if the number is unknown.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "launch/implementations.h"

namespace torusmp::launch {
namespace {

std::optional<std::string> get(const char* name) {
    if (!name) return std::nullopt;
    const char* value = std::getenv(name);
    if (!value || !*value) return std::nullopt;
    return value;
}

// Empty if the text is not a whole number.
std::optional<long long> number(const std::optional<std::string>& text) {
    if (!text) return std::nullopt;
    char* end = nullptr;
    const long long value = std::strtoll(text->c_str(), &end, 10);
    if (*end != '\0') return std::nullopt;
    return value;
}

std::string quote(std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names)
        if (const auto value = get(name))
            text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, *value);
    return text;
}

constexpr const char* use_torus_run = "start the program with torus-run -np N instead";

// srun starts steps. A batch script, an interactive shell and the shell of salloc have no step of
// their own, or one with a number from the reserved range at the top, and run as single processes.
std::optional<ForeignLauncher> find_slurm() {
    constexpr long long first_reserved_step = 0xfffffff0;
    const auto step = number(get("SLURM_STEP_ID"));
    if (!step || *step >= first_reserved_step || !get("SLURM_PROCID")) return std::nullopt;
    auto tasks = number(get("SLURM_STEP_NUM_TASKS"));
    if (!tasks) tasks = number(get("SLURM_NTASKS"));
    if (tasks && *tasks == 1) return std::nullopt;
    return ForeignLauncher{"Slurm's srun without PMIx",
                           quote({"SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                                  "SLURM_NTASKS", "PMI_RANK"}),
                           "start it with srun --mpi=pmix (srun --mpi=list shows whether this "
                           "Slurm has PMIx), or with "
                           "torus-run -np N inside the allocation"};
}

struct Marks {
    const char* name;
    const char* rank;
    const char* size;  // null if this launcher does not set it
    const char* remedy;
};

constexpr Marks known[] = {
    {"Open MPI's mpirun without PMIx", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "use an Open MPI built with PMIx, or torus-run -np N"},
    {"MVAPICH's mpirun_rsh", "MPIRUN_RANK", "MPIRUN_NPROCS", use_torus_run},
    {"IBM's jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", use_torus_run},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE",
     "start it with flux run -o pmi=pmix where the plugin is installed, or with torus-run -np N"},
    {"HPE's PALS (mpiexec or aprun)", "PALS_RANKID", "PMI_SIZE",
     "start it with mpiexec --pmi=pmix, or with torus-run -np N"},
    {"Cray's ALPS (aprun)", "ALPS_APP_PE", nullptr, use_torus_run},
    {"a PMI launcher (mpiexec.hydra of MPICH, MVAPICH or Intel MPI)", "PMI_RANK", "PMI_SIZE",
     "start it with torus-run -np N, or with a launcher that speaks PMIx"},
};

}  // namespace

std::optional<ForeignLauncher> find_foreign_launcher() {
    if (auto slurm = find_slurm()) return slurm;
    for (const Marks& marks : known) {
        if (!get(marks.rank)) continue;
        const auto size = number(get(marks.size));
        if (size && *size == 1) continue;
        return ForeignLauncher{marks.name,
                               marks.size ? quote({marks.rank, marks.size}) : quote({marks.rank}),
                               marks.remedy};
    }
    return std::nullopt;
}

}  // namespace torusmp::launch
