// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/joined.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <thread>
#include <utility>

#include "config/geometry.h"
#include "core/progress/companions.h"
#include "launch/environment.h"
#include "launch/meeting_socket.h"
#include "launch/stand_in.h"
#include "mpi11/comm/creation.h"
#include "mpi11/comm/group.h"
#include "mpi11/error/check.h"
#include "mpi11/spawn/replace.h"

namespace torusmp::mpi {
namespace {

struct Joined {
    std::shared_ptr<World> world;
    std::unique_ptr<launch::Seat> seat;
    std::unique_ptr<job::Subjob> meeting;  // null in all processes but one
};

struct Children {
    std::unique_ptr<job::Subjob> job;
    int processes = 0;
    Deaths deaths = Deaths::end_the_job;
    std::shared_ptr<const base::Descriptor> lifeline;
};

struct State {
    core::Companions companions;
    std::mutex mutex;
    bool accompanied = false;  // the Runtime of the own job is among the companions
    std::vector<Joined> joined;
    std::vector<Children> children;
    std::vector<Children> unattended;  // after the end of MPI, without a torus-run that waits
};

State& state() {
    static State* const only = std::make_unique<State>().release();
    return *only;
}

// The introduction of each process of a joined job.
struct Identity {
    int index;
    ProcessName name;
};

// The Runtime ends here also if the job cannot be left in order, because its torus-run has ended.
void leave(Joined job, const char* call) {
    std::exception_ptr failed;
    try {
        job.world->process().leave(call);
    } catch (...) {
        failed = std::current_exception();
    }
    job.world->runtime().leave(state().companions);
    job.world.reset();
    job.seat->leave();
    if (job.meeting) wait_idly([&] { return job.meeting->ended().has_value(); });
    if (failed) std::rethrow_exception(failed);
}

std::optional<Joined> take_job(const std::shared_ptr<World>& world) {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    const auto it = std::ranges::find(all.joined, world, &Joined::world);
    if (it == all.joined.end()) return std::nullopt;
    Joined found = std::move(*it);
    all.joined.erase(it);
    return found;
}

// After its end.
bool is_mended_death(const Children& children) {
    constexpr int first_signal = 129;  // of the exit codes
    return children.deaths == Deaths::are_mended && *children.job->ended() >= first_signal;
}

// At the exit of a process without a torus-run.
void wait_for_unattended_children() {
    int code = 0;
    for (const Children& it : state().unattended)
        if (const int own = it.job->wait(); code == 0 && !is_mended_death(it)) code = own;
    if (code == 0) return;
    fmt::print(stderr, "processes that MPI_Comm_spawn started have ended with code {}\n", code);
    std::fflush(nullptr);
    _exit(code);
}

void let_children_go() {
    State& all = state();
    for (Children& it : std::exchange(all.children, {})) {
        it.lifeline.reset();
        if (it.job->ended() == 0) continue;
        if (it.job->adopted()) {
            it.job->let_go();
            continue;
        }
        if (all.unattended.empty()) std::atexit(wait_for_unattended_children);
        all.unattended.push_back(std::move(it));
    }
}

// Alone again: the waits of the own job pay for no others.
void end_company() {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    if (all.joined.empty() && std::exchange(all.accompanied, false))
        runtime().leave(all.companions);
}

}  // namespace

std::string new_meeting_name() {
    return fmt::format("torusmp-{}", launch::random_digits());
}

int own_node(const job::Process& process) {
    return job::own_node(process.settings(), process.rank());
}

std::unique_ptr<job::Subjob> start_meeting(const std::string& name, const job::Process& process,
                                           const std::vector<int>& nodes, int running,
                                           const std::vector<int>& refused) {
    std::vector<int> lost = refused;
    for (Rank rank = 0; rank < process.size(); ++rank)
        if (process.runtime().survivors().is_lost(rank))
            lost.push_back(job::own_node(process.settings(), rank));
    job::Seating seating =
        job::seat_processes(process.settings(), own_node(process), nodes, running, lost);
    std::vector<std::string> arguments = std::move(seating.options);
    // A process may end without the others; bound to processors, ranks of other jobs are not.
    arguments.insert(arguments.end(),
                     {"--keep-going", "--bind", "none", "--export", launch::env_meeting, "--",
                      launch::stand_in_path(job::torus_run_path()), seating.table});
    return std::make_unique<job::Subjob>(
        "torus-run", std::move(arguments),
        std::vector{fmt::format("{}={}", launch::env_meeting, name)}, true);
}

Communicator& join(const MeetingPlace& place, std::unique_ptr<job::Subjob> meeting,
                   const std::function<bool()>& given_up) {
    auto seat = std::make_unique<launch::Seat>(fmt::format("{}-{}", place.name, place.index));
    const ProcessName self = hot.world->world()->name();
    const bool threads = library().process->threads();
    std::shared_ptr<job::Process> process;
    std::vector<std::vector<std::byte>> identities;
    std::exception_ptr failed;
    std::atomic<bool> over{false};
    // In a thread of its own, because it waits for other processes, which may wait for this one.
    std::thread joiner([&] {
        try {
            seat->take();
            process = job::Process::join(seat->connect(), seat->environment(), threads);
            const Identity own{place.index, self};
            identities = process->exchange(std::as_bytes(std::span(&own, 1)));
        } catch (...) {
            failed = std::current_exception();
        }
        over = true;
    });
    bool cancelled = false;
    wait_idly([&] {
        if (!over && !cancelled && given_up()) {
            cancelled = true;
            if (meeting) meeting->stop();
            seat->cancel();
        }
        return over.load();
    });
    joiner.join();
    if (failed) std::rethrow_exception(failed);
    if (cancelled) throw std::runtime_error("the other processes have given up");

    std::vector<ProcessName> names(identities.size());
    std::vector<Rank> ranks(std::size_t(place.processes), -1);  // by index
    for (std::size_t rank = 0; rank < identities.size(); ++rank) {
        Identity identity{};
        if (identities[rank].size() != sizeof identity) continue;  // only passes messages on
        std::memcpy(&identity, identities[rank].data(), sizeof identity);
        names[rank] = identity.name;
        if (identity.index >= 0 && identity.index < place.processes)
            ranks[std::size_t(identity.index)] = Rank(rank);
    }
    if (const auto missing = std::ranges::count(ranks, -1); missing != 0)
        throw std::runtime_error(
            fmt::format("{} of {} processes have not joined", missing, place.processes));
    const auto second = ranks.begin() + place.first_side;
    std::vector<Rank> members[2] = {{ranks.begin(), second}, {second, ranks.end()}};
    auto world = std::make_shared<World>(std::move(process), std::move(names));
    State& all = state();
    const std::lock_guard lock(all.mutex);
    if (!all.accompanied) runtime().join(all.companions);
    all.accompanied = true;
    world->runtime().join(all.companions);
    all.joined.push_back({world, std::move(seat), std::move(meeting)});
    const int own = place.index < place.first_side ? 0 : 1;
    return make_inter(std::move(world), std::move(members[own]), std::move(members[1 - own]), 0);
}

void keep_children(std::unique_ptr<job::Subjob> children, int processes, Deaths deaths,
                   std::shared_ptr<const base::Descriptor> lifeline) {
    const std::lock_guard lock(state().mutex);
    std::erase_if(state().children, [](const auto& it) { return it.job->ended() == 0; });
    state().children.push_back({std::move(children), processes, deaths, std::move(lifeline)});
}

int living_children() {
    const std::lock_guard lock(state().mutex);
    int processes = 0;
    for (const Children& it : state().children)
        if (!it.job->ended()) processes += it.processes;
    return processes;
}

void meet_parents() {
    const char* const text = std::getenv(launch::env_parents);
    if (text == nullptr) return;
    MeetingPlace place;
    char name[64];
    int own = 0, end = 0;
    const int found = std::sscanf(text, "%63[^:]:%d:%d%n:%d:%n", name, &place.first_side,
                                  &place.processes, &end, &own, &end);
    if (found < 3)
        throw std::runtime_error(fmt::format("{}=\"{}\" is damaged", launch::env_parents, text));
    std::vector<int> ranks;
    for (const char* at = text + end; found == 4 && *at != '\0'; at += *at == ',') {
        char* after = nullptr;
        ranks.push_back(int(std::strtol(at, &after, 10)));
        if (after == at)
            throw std::runtime_error(
                fmt::format("{}=\"{}\" is damaged", launch::env_parents, text));
        at = after;
    }
    unsetenv(launch::env_parents);
    place.name = name;
    place.index = place.first_side + own + hot.world->rank();
    if (!ranks.empty()) return take_place(place, ranks);
    Communicator& parent = join(place, nullptr, [] { return false; });
    parent.error_handler = hot.world->error_handler;
    parent.name = "MPI_COMM_PARENT";
    library().parent = &parent;
}

std::shared_ptr<World> joined_job(std::uint64_t number) {
    const std::lock_guard lock(state().mutex);
    for (const Joined& it : state().joined)
        if (it.world->process().number() == number) return it.world;
    return nullptr;
}

std::shared_ptr<World> common_job(std::initializer_list<MPI_Group> groups) {
    const auto has_all = [&](const std::shared_ptr<World>& world) {
        return std::ranges::all_of(groups, [&](MPI_Group group) {
            return std::ranges::all_of(members_in(*world, group).ranks(),
                                       [&](Rank rank) { return rank < world->roster()->size(); });
        });
    };
    if (const auto& own = hot.world->world(); has_all(own)) return own;
    const std::lock_guard lock(state().mutex);
    std::vector<std::shared_ptr<World>> found;
    for (const Joined& it : state().joined)
        if (has_all(it.world)) found.push_back(it.world);
    for (const MPI_Group group : groups)
        for (const std::shared_ptr<World>& world : found)
            if (world->roster() == checked<ProcessGroup>(group).roster) return world;
    const auto smallest = std::ranges::min_element(
        found, {}, [](const std::shared_ptr<World>& world) { return world->process().number(); });
    return smallest == found.end() ? nullptr : *smallest;
}

void leave_job(const std::shared_ptr<World>& world, const char* call) {
    if (auto found = take_job(world)) {
        leave(std::move(*found), call);
        end_company();
    }
}

void abandon_job(std::shared_ptr<World> world) {
    auto found = take_job(world);
    if (!found) return;
    world.reset();
    found->world->runtime().leave(state().companions);
    found->world.reset();
    found->seat->leave();
    if (found->meeting) found->meeting->stop();
    end_company();
}

void leave_joined_jobs() {
    close_ports();
    State& all = state();
    std::exception_ptr failed;
    for (Joined& it : std::exchange(all.joined, {})) try {
            leave(std::move(it), "MPI_Finalize");
        } catch (const launch::BootstrapError&) {
            // Its torus-run has ended: the others count as dead, and calls to them have said so.
        } catch (...) {
            failed = std::current_exception();
        }
    end_company();
    let_children_go();
    if (failed) std::rethrow_exception(failed);
}

}  // namespace torusmp::mpi
