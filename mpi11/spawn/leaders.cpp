// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/leaders.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mpi11/comm/agreement.h"
#include "mpi11/error/check.h"
#include "mpi11/spawn/meeting.h"

namespace torusmp::mpi {
namespace {

// Whether a leader could be the host.
constexpr const char *able = "able", *unable = "unable";

// Each side ends with a farewell and waits for the other's, so no message is left between them.
class LeadersTalk final : public Talk {
  public:
    LeadersTalk(const WayToLeader& way, const char* call) : way_(way), call_(call) { expect(); }
    LeadersTalk(const LeadersTalk&) = delete;
    LeadersTalk& operator=(const LeadersTalk&) = delete;
    ~LeadersTalk() override {
        try {
            put(&farewell, sizeof farewell);
        } catch (const std::runtime_error&) {
            // The other one has died, which ends the receive, too.
        }
        wait_idly([&] {
            try {
                if (!gone_) receive();
            } catch (const std::runtime_error&) {
                gone_ = true;
            }
            return gone_;
        });
    }

    void send(const std::string& text) override {
        const auto length = std::int64_t(text.size());
        put(&length, sizeof length);
        if (length > 0) put(text.data(), text.size());
    }

    std::optional<std::string> receive() override {
        if (gone_) throw std::runtime_error(has_left);
        way_.runtime.progress();
        if (!next_->complete()) return std::nullopt;
        gone_ = next_->status().error != core::Error::none || length_ == farewell;
        if (gone_) throw std::runtime_error(has_left);
        std::string text(std::size_t(length_), '\0');
        if (length_ > 0) {
            gone_ = true;
            core::ReceiveRequest rest;
            way_.runtime.receive(rest, {reinterpret_cast<std::byte*>(text.data()), text.size()},
                                 way_.other, way_.context, way_.tag);
            finish(rest);
            gone_ = false;
        }
        expect();
        return text;
    }

  private:
    static constexpr std::int64_t farewell = -1;

    void expect() {
        next_.emplace();
        way_.runtime.receive(*next_, {reinterpret_cast<std::byte*>(&length_), sizeof length_},
                             way_.other, way_.context, way_.tag);
    }
    void put(const void* data, std::size_t bytes) {
        core::SendRequest request;
        auto* const first = static_cast<std::byte*>(const_cast<void*>(data));
        way_.runtime.send(request, {first, bytes}, way_.other, way_.context, way_.tag);
        finish(request);
    }
    void finish(core::Request& request) {
        try {
            mpi::wait_for(way_.runtime, request, call_);
        } catch (const Failure& failure) {
            throw std::runtime_error(failure.text());
        }
    }

    const WayToLeader way_;
    const char* const call_;
    std::int64_t length_ = 0;
    std::optional<core::ReceiveRequest> next_;
    bool gone_ = false;
};

// The leader of the lower rank is the host, unless only the other one's job has the hosts of both.
Arrangement arrange(const WayToLeader& way, const job::Process& job, const std::vector<int>& nodes,
                    const char* call) {
    const auto talk = std::make_shared<LeadersTalk>(way, call);
    talk->introduce({}, introduction(job, nodes));
    const Introduction others = introduction_of(await_message(*talk), {});
    const bool here = are_on_hosts_of(job, others), first = way.runtime.rank() < way.other;
    talk->send(here ? able : unable);
    const bool there = await_message(*talk) == able;
    if (here == there ? !first : there) return visit_meeting(talk, await_invitation(*talk));
    return host_only_meeting(talk, others, job, nodes);
}

}  // namespace

Communicator& join_over_leaders(Communicator& local, int leader, const WayToLeader* way,
                                const char* call) {
    return join_through(local, leader, call, MPI_ERR_COMM,
                        [&](const job::Process& job, const std::vector<int>& nodes) {
                            try {
                                return arrange(*way, job, nodes, call);
                            } catch (const Failure& failure) {
                                throw Failure(MPI_ERR_COMM, failure.text());
                            }
                        });
}

}  // namespace torusmp::mpi
