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
#include "launch/implementations.h"
#include "launch/stand_in.h"
#include "mpi11/comm/creation.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

struct Joined {
    std::shared_ptr<World> world;
    std::unique_ptr<launch::Seat> seat;
    std::unique_ptr<job::Subjob> meeting;  // null in all processes but one
};

struct State {
    core::Companions companions;
    std::mutex mutex;
    bool accompanied = false;  // the Runtime of the own job is among the companions
    std::vector<Joined> joined;
    std::vector<std::unique_ptr<job::Subjob>> children;
};

State& state() {
    static State* const only = std::make_unique<State>().release();
    return *only;
}

// What each process of a joined job says of itself.
struct Identity {
    int index;
    ProcessName name;
};

void leave(Joined job, const char* call) {
    core::Runtime& left = job.world->runtime();
    job.world->process().leave(call);
    left.leave(state().companions);
    job.world.reset();
    job.seat->leave();
    if (job.meeting) job.meeting->wait();
}

// Sleeps between looks at what happens outside of the Runtimes.
class Rest {
  public:
    void take() {
        if (runtime().progress()) {
            pause_ = shortest;
            return;
        }
        std::this_thread::sleep_for(pause_);
        pause_ = std::min(2 * pause_, longest);
    }

  private:
    // Other ranks may need this one to pass their messages on.
    static constexpr std::chrono::microseconds shortest{50}, longest{500};
    std::chrono::microseconds pause_ = shortest;
};

}  // namespace

std::string new_meeting_name() {
    std::string name = "torusmp-";
    for (const std::byte it : launch::random_secret()) name += fmt::format("{:02x}", unsigned(it));
    return name;
}

int own_node() {
    const config::Settings& settings = library().process->settings();
    return host_names(settings).empty() ? 0 : node_of(settings, library().process->rank());
}

std::unique_ptr<job::Subjob> start_meeting(const std::string& name, const std::vector<int>& nodes) {
    const job::Process& process = *library().process;
    const job::Seating seating = job::seat_processes(process.settings(), nodes);
    std::vector<std::string> arguments =
        job::options_of_further_job(process.settings(), process.rank());
    arguments.insert(arguments.end(), seating.options.begin(), seating.options.end());
    // A process may end without the others; bound to processors, ranks of other jobs are not.
    arguments.insert(arguments.end(), {"--keep-going", "--bind", "none", "--", job::stand_in_path(),
                                       name, seating.table});
    return std::make_unique<job::Subjob>("torus-run", std::move(arguments), true);
}

Communicator& join(const MeetingPlace& place, std::unique_ptr<job::Subjob> meeting,
                   const std::function<bool()>& given_up) {
    auto seat = std::make_unique<launch::Seat>(fmt::format("{}-{}", place.name, place.index));
    const ProcessName self = hot.world->world()->name();
    const bool threads = library().process->threads();
    std::shared_ptr<job::Process> process;
    std::vector<std::vector<std::byte>> words;
    std::exception_ptr failed;
    std::atomic<bool> over{false};
    // In a thread of its own, because it waits for other processes, which may wait for this one.
    std::thread joiner([&] {
        try {
            seat->take();
            process = job::Process::join(launch::connect_passed(seat->socket(), seat->notices()),
                                         seat->environment(), threads);
            const Identity own{place.index, self};
            words = process->exchange(std::as_bytes(std::span(&own, 1)));
        } catch (...) {
            failed = std::current_exception();
        }
        over = true;
    });
    bool cancelled = false;
    for (Rest rest; !over; rest.take()) {
        if (cancelled || !given_up()) continue;
        cancelled = true;
        if (meeting) meeting->stop();
        seat->cancel();
    }
    joiner.join();
    if (failed) std::rethrow_exception(failed);

    std::vector<ProcessName> names(words.size());
    std::vector<std::pair<int, Rank>> sides[2];
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        Identity identity{};
        if (words[rank].size() != sizeof identity) continue;  // only passes on messages
        std::memcpy(&identity, words[rank].data(), sizeof identity);
        names[rank] = identity.name;
        sides[identity.index < place.first_side ? 0 : 1].emplace_back(identity.index, Rank(rank));
    }
    std::vector<Rank> members[2];
    for (int side = 0; side < 2; ++side) {
        std::sort(sides[side].begin(), sides[side].end());
        for (const auto& [index, rank] : sides[side]) members[side].push_back(rank);
    }
    auto world = std::make_shared<World>(std::move(process), std::move(names));
    State& all = state();
    const std::lock_guard lock(all.mutex);
    if (!std::exchange(all.accompanied, true)) runtime().join(all.companions);
    world->runtime().join(all.companions);
    all.joined.push_back({world, std::move(seat), std::move(meeting)});
    const int own = place.index < place.first_side ? 0 : 1;
    return make_inter(std::move(world), std::move(members[own]), std::move(members[1 - own]), 0);
}

void keep_children(std::unique_ptr<job::Subjob> children) {
    const std::lock_guard lock(state().mutex);
    std::erase_if(state().children, [](const auto& it) { return it->ended() == 0; });
    state().children.push_back(std::move(children));
}

void meet_parents() {
    const char* const text = std::getenv(launch::env_parents);
    if (text == nullptr) return;
    MeetingPlace place;
    char name[64];
    if (std::sscanf(text, "%63[^:]:%d", name, &place.first_side) != 2)
        throw std::runtime_error(fmt::format("{}=\"{}\" is damaged", launch::env_parents, text));
    unsetenv(launch::env_parents);
    place.name = name;
    place.index = place.first_side + hot.world->rank();
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

void leave_unused_jobs(const char* call) {
    State& all = state();
    std::vector<Joined> unused;
    {
        const std::lock_guard lock(all.mutex);
        for (auto it = all.joined.begin(); it != all.joined.end();)
            if (it->world.use_count() == 1) {
                unused.push_back(std::move(*it));
                it = all.joined.erase(it);
            } else {
                ++it;
            }
    }
    for (Joined& it : unused) leave(std::move(it), call);
}

void leave_joined_jobs() {
    close_ports();
    State& all = state();
    for (Joined& it : std::exchange(all.joined, {})) leave(std::move(it), "MPI_Finalize");
    if (std::exchange(all.accompanied, false)) runtime().leave(all.companions);
    int code = 0;
    for (const auto& it : all.children) {
        for (Rest rest; !it->ended();) rest.take();
        if (code == 0) code = *it->ended();
    }
    all.children.clear();
    if (code != 0)
        library().process->abort(
            code,
            fmt::format("processes that MPI_Comm_spawn started have ended with code {}", code));
}

}  // namespace torusmp::mpi
