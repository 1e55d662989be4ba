// SPDX-License-Identifier: BSD-3-Clause
// The messages of a round of the fault soak, and the programs of its ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fault_soak_damage.h"
#include "fault_soak_scene.h"

namespace torusmp::core::testing::fault_soak {

enum class Way {
    matched,   // by context, source and tag
    flow,      // a declared channel
    tried,     // its receive is cancelled at some moment, and posted again where that succeeded
    probed,    // its receive is posted when a probe has found it
    wildcard,  // a receive from any source takes it
    lonely     // a receive without a sender; cancelled in the end
};

struct Message {
    std::size_t number = 0;
    Way way = Way::matched;
    Rank from = 0;
    Rank to = 0;
    Context context = 0;
    Tag tag = 0;
    std::size_t bytes = 0;
    bool synchronous = false;
    bool sent = false;
    bool posted = false;
    bool cancel_asked = false;
    bool delivered = false;  // wildcard: it came
    std::unique_ptr<std::byte[]> out;
    std::unique_ptr<std::byte[]> in;
    bool out_reused = false;  // complete, and its memory was used for something else
    bool in_reused = false;
    SendRequest send;
    ReceiveRequest receive;
};

// A receive from any source, posted again whenever it has ended.
struct Server {
    Rank at = 0;
    std::unique_ptr<std::byte[]> room;
    ReceiveRequest receive;
    bool open = false;
};

// The result of a wildcard receive, checked when the ranks that were cut off are known.
struct Delivery {
    Rank at;
    Status status;
    bool right_bytes;
};

std::string name_of(const Message& message);

// Outlives the job, whose ranks use its requests and memory.
class Traffic {
  public:
    explicit Traffic(Scene& scene) : scene_(scene) {}

    // Chooses the messages; captured ranks are known from `damage`.
    void plan(const Damage& damage);
    // The programs of some ranks do something, and the job moves.
    void step();
    // True if all sends and receives have been started.
    bool all_begun() const { return sends_ == messages_.size() && receives_ == messages_.size(); }
    // Runs until nothing moves by itself and no program has a next step.
    void settle();
    // The receives without a sender are cancelled.
    void close() { closing_ = true; }
    // One message more, sent and received at once.
    void exchange(Rank from, Rank to, Context context, std::size_t bytes);

    const std::vector<std::unique_ptr<Message>>& messages() const { return messages_; }
    const std::vector<std::unique_ptr<Server>>& servers() const { return servers_; }
    const std::vector<Delivery>& deliveries() const { return deliveries_; }

  private:
    void issue_send(Message& message);
    void issue_receive(Message& message);
    void post(Message& message);
    // Takes the next step of a rank's program for this message. True if there was one.
    bool tend(Message& message);
    bool tend(Server& server);
    void open(Server& server);

    Scene& scene_;
    const Damage* damage_ = nullptr;
    std::vector<std::unique_ptr<Message>> messages_;
    std::vector<std::unique_ptr<Server>> servers_;
    std::vector<Delivery> deliveries_;
    std::vector<std::unique_ptr<std::byte[]>> abandoned_;
    std::size_t sends_ = 0;     // messages whose send was issued, or passed over
    std::size_t receives_ = 0;  // the same of receives
    bool closing_ = false;
};

}  // namespace torusmp::core::testing::fault_soak
