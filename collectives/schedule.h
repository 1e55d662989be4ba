// A collective as a small state machine that the progress engine advances, so many run at once and
// a blocking collective is start + wait.
//
// Two manners. Most go step by step: step() posts a batch of sends and receives, and the next step
// begins when all of the batch are complete. Those that keep many messages under way override
// move(), which is called whenever something has moved, and number their requests themselves.
//
// The caller owns a schedule, keeps it and its buffers in place until complete(), and may then
// start it again, which hardly allocates: requests and scratch memory stay. A schedule belongs to
// one Group; all its members start the same collectives in the same order, but for those that they
// fix.
//
// A fault that concerns any two members ends the schedule on all of them: each takes back what it
// has posted, and ends with an error that names the rank. So does a disagreement about the call:
// ledger.h says how it is found.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/call.h"
#include "collectives/group.h"

namespace torusmp::collectives {

class CallCheck;
struct Verdict;

class Schedule : public core::Task {
  public:
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;

    bool complete() const { return complete_.load(std::memory_order_acquire); }
    // What the next calls move, where that is known: compared in the checking mode. A literal, and
    // the bytes of one.
    void set_elements(std::string_view what, std::size_t bytes) {
        elements_ = what;
        element_ = bytes;
    }
    // Blocks until complete.
    void wait() {
        group_->runtime().wait_until([this] { return complete(); }, name_);
    }
    // Between the two, starts of this schedule meet those of the schedules that the others fixed as
    // their n-th, in whatever order each of them starts what it has fixed. Not while it runs.
    void fix() { fixed_tag_ = group_->next_fixed_tag(); }
    void unfix() { fixed_tag_.reset(); }

    // After completion: what went wrong first, and with whom. The result is then undefined.
    core::Error error() const { return error_; }
    Rank failed_peer() const { return failed_peer_; }
    // Both in words.
    std::string failure() const;
    // Whether what went wrong is that members gave different sizes.
    bool sizes_differ() const { return error_ == core::Error::truncated || found_ != expected_; }

    bool advance() final;
    std::string describe() const final;
    void linger() final;

  protected:
    explicit Schedule(Group& group);
    ~Schedule();

    Group& group() const { return *group_; }
    // Gives the schedule to the progress engine. `name` is a literal.
    void begin(std::string_view name, const Call& call = {});
    // As begin(), but the caller advances it.
    void reset(std::string_view name);
    // From now on this schedule starts and advances that one, as a part of its own. number: tells
    // parts on one group apart, 1 to 7; parts that have parts of their own leave these bits 0, so
    // 8, 16 or 24; 0: it does the work of this very schedule.
    void nest(Schedule& part, int number);
    // Advances a part; true: it has finished well.
    bool move_part(Schedule& part);
    // Ends the schedule with an error, after what it has posted is taken back.
    void fail(core::Error error, Rank peer);
    // The same, and on all other members: a message of that peer does not fit the call.
    void break_off(core::Error error, Rank peer, std::size_t found = 0, std::size_t expected = 0);
    bool failed() const { return error_ != core::Error::none; }
    // How messages have to fit what they are received into. Where one does not, the members do not
    // mean the same: the schedule breaks off.
    enum class Fit { exact, at_most, framed };
    void expect(Fit fit) { fit_ = fit; }

    // --- step by step ---
    // Posts the next batch; false: nothing is left to do. A batch may be empty.
    virtual bool step() { return false; }
    void send(core::Buffer buffer, Rank dest) { post_send(sends_.next(), buffer, dest); }
    void receive(core::Buffer buffer, Rank source) {
        post_receive(receives_.next(), buffer, source);
    }
    // To and from the neighbour in a direction of the group's torus, over that very link.
    void send_by(routing::Direction direction, core::Buffer buffer) {
        post_send_by(sends_.next(), direction, buffer);
    }
    void receive_by(routing::Direction direction, core::Buffer buffer) {
        receive(buffer, group_->neighbour(direction));
    }
    // Over a link of the machine.
    void send_over(routing::Direction link, core::Buffer buffer) {
        ++posts_;
        group_->runtime().send_by(sends_.next(), buffer, link, group_->context(), tag_of(0));
    }

    // --- message by message ---
    // Posts what can be posted; true: all that was posted is complete and nothing is left to do.
    virtual bool move();
    // Requests 0 to count - 1 of each kind, to be used in any order; all must be complete before.
    void use_requests(std::size_t sends, std::size_t receives);
    // Streams between the same two members match each for itself, by a number below max_streams.
    static constexpr int max_streams = collectives::max_streams;
    void send(std::size_t index, core::Buffer buffer, Rank dest, int stream = 0) {
        post_send(sends_.requests[index], buffer, dest, stream);
    }
    void send_by(std::size_t index, routing::Direction direction, core::Buffer buffer,
                 int stream = 0) {
        post_send_by(sends_.requests[index], direction, buffer, stream);
    }
    void receive(std::size_t index, core::Buffer buffer, Rank source, int stream = 0) {
        post_receive(receives_.requests[index], buffer, source, stream);
    }
    void receive_by(std::size_t index, routing::Direction direction, core::Buffer buffer,
                    int stream = 0) {
        receive(index, buffer, group_->neighbour(direction), stream);
    }
    // Whether a request is complete; one that ended with an error fails the schedule.
    bool sent(std::size_t index) { return done(sends_.requests[index]); }
    bool received(std::size_t index) { return done(receives_.requests[index]); }
    // How a receive has ended, whatever that means for the schedule; null: it has not.
    const core::Status* arrived(std::size_t index) const {
        const core::ReceiveRequest& request = receives_.requests[index];
        return request.complete() ? &request.status() : nullptr;
    }
    // Bytes of the message that a complete receive got.
    std::size_t bytes_received(std::size_t index) const {
        return receives_.requests[index].status().bytes;
    }

  private:
    // Requests live as long as the schedule; each step uses the first few anew.
    template <class RequestType>
    struct Batch {
        std::deque<RequestType> requests;
        std::size_t used = 0;     // in this step, or numbered by the schedule
        std::size_t settled = 0;  // of these, known to be complete
        RequestType& next() {
            if (used == requests.size()) requests.emplace_back();
            return requests[used++];
        }
        void use(std::size_t count) {
            while (requests.size() < count) requests.emplace_back();
            used = count;
        }
    };

    core::Tag tag_of(int stream) const { return tag_ * max_streams + stream; }
    void post_send(core::SendRequest& request, core::Buffer buffer, Rank dest, int stream = 0) {
        ++posts_;
        group_->runtime().send(request, buffer, dest, group_->context(), tag_of(stream));
    }
    void post_send_by(core::SendRequest& request, routing::Direction direction, core::Buffer buffer,
                      int stream = 0);
    void post_receive(core::ReceiveRequest& request, core::Buffer buffer, Rank source,
                      int stream = 0) {
        ++posts_;
        group_->runtime().receive(request, buffer, source, group_->context(), tag_of(stream));
    }
    bool done(const core::SendRequest& request) {
        if (!request.complete()) return false;
        if (request.status().error != core::Error::none)
            fail(request.status().error, request.peer());
        return true;
    }
    bool done(const core::ReceiveRequest& request) {
        if (!request.complete()) return false;
        if (request.status().error != core::Error::none ||
            (request.status().bytes != request.bytes() && fit_ == Fit::exact)) [[unlikely]]
            fail_receive(request);
        return true;
    }
    void fail_receive(const core::ReceiveRequest& request);
    template <class RequestType>
    bool settle(Batch<RequestType>& batch);
    bool batch_complete();
    bool has_begun();
    void look_for_faults();
    void heed(const Verdict& verdict);
    void tell_all();
    void take_back();
    bool all_complete();

    Group* group_;
    std::string_view name_ = "collective";
    core::Tag tag_ = 0;
    std::optional<core::Tag> fixed_tag_;
    std::vector<Schedule*> parts_;
    Fit fit_ = Fit::exact;
    std::size_t found_ = 0;  // bytes of a message of the wrong size
    std::size_t expected_ = 0;
    bool nested_ = false;
    int number_ = 0;  // as a part
    Call call_{};
    std::string_view elements_;
    std::size_t element_ = 0;
    std::unique_ptr<CallCheck> check_;  // where the group checks
    bool begun_ = true;                 // calls are compared, if that is asked for
    bool entered_ = false;              // in the ledger
    int lingered_ = 0;
    bool to_tell_ = false;  // the others that it ends with an error
    std::string verdict_;   // what it ended with, in words of others
    Batch<core::SendRequest> sends_;
    Batch<core::ReceiveRequest> receives_;
    bool advancing_ = false;
    std::uint64_t posts_ = 0;  // requests posted, by parts too
    bool taken_back_ = false;
    std::uint64_t faults_seen_ = 0;
    core::Error error_ = core::Error::none;
    Rank failed_peer_ = core::any_source;
    std::atomic<bool> complete_{true};
};

// Memory of a schedule that only grows, aligned for every type.
class Scratch {
  public:
    // The least room for so many bytes behind which any type may start again.
    static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
    std::byte* reserve(std::size_t bytes) {
        if (bytes > size_) {
            memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
            size_ = bytes;
        }
        return memory_.get();
    }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
};

}  // namespace torusmp::collectives
