// A collective as a small state machine: steps, each a batch of sends and receives; the next step
// begins when all of the batch are complete. The progress engine advances it, so many schedules run
// at once and a blocking collective is start + wait.
//
// The caller owns a schedule, keeps it and its buffers in place until complete(), and may then
// start it again, which hardly allocates: requests and scratch memory stay. A schedule belongs to
// one Group; all its members start the same collectives in the same order.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/group.h"

namespace torusmp::collectives {

class Schedule : public core::Task {
  public:
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;

    bool complete() const { return complete_.load(std::memory_order_acquire); }
    // Blocks until complete.
    void wait() {
        group_->runtime().wait_until([this] { return complete(); }, name_);
    }
    // After completion: what went wrong first, and with whom. The result is then undefined.
    core::Error error() const { return error_; }
    Rank failed_peer() const { return failed_peer_; }

    bool advance() final;
    std::string describe() const final;

  protected:
    explicit Schedule(Group& group) : group_(&group) {}
    ~Schedule() = default;

    Group& group() const { return *group_; }
    // Gives the schedule to the progress engine. `name` outlives the schedule.
    void begin(std::string_view name);
    // Posts the next batch; false: nothing is left to do. A batch may be empty.
    virtual bool step() = 0;
    void send(core::Buffer buffer, Rank dest);
    void receive(core::Buffer buffer, Rank source);

  private:
    bool batch_complete();

    // Requests live as long as the schedule; each step uses the first few anew.
    template <class RequestType>
    struct Batch {
        std::deque<RequestType> requests;
        std::size_t used = 0;     // posted in this step
        std::size_t settled = 0;  // of these, known to be complete
        RequestType& next() {
            if (used == requests.size()) requests.emplace_back();
            return requests[used++];
        }
    };
    template <class RequestType>
    bool settle(Batch<RequestType>& batch);

    Group* group_;
    std::string_view name_ = "collective";
    core::Tag tag_ = 0;
    Batch<core::SendRequest> sends_;
    Batch<core::ReceiveRequest> receives_;
    bool advancing_ = false;
    core::Error error_ = core::Error::none;
    Rank failed_peer_ = core::any_source;
    std::atomic<bool> complete_{true};
};

// Memory of a schedule that only grows, aligned for every type.
class Scratch {
  public:
    std::byte* reserve(std::size_t bytes) {
        if (bytes > size_) {
            memory_ = std::make_unique<std::byte[]>(bytes);
            size_ = bytes;
        }
        return memory_.get();
    }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
};

}  // namespace torusmp::collectives
