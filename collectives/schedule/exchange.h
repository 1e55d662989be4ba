// SPDX-License-Identifier: BSD-3-Clause
// Messages for which both ends post: each member has a list of sends and receives, and posts all of
// them together. Several messages from one member to another match the receives there in order.
#pragma once

#include <optional>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace torusmp::collectives {

class Exchange final : public Schedule {
  public:
    explicit Exchange(Group& group) : Schedule(group) { expect(Fit::at_most); }
    ~Exchange() = default;

    // The list, created before start() and kept for later starts. Buffers may have layouts. The
    // peer is named by its machine rank, or by a link of the machine.
    void clear() {
        to_.clear();
        from_.clear();
    }
    void add_send(core::Buffer buffer, Rank dest) { to_.push_back({buffer, dest, {}}); }
    void add_send(core::Buffer buffer, routing::Direction link) {
        to_.push_back({buffer, core::any_source, link});
    }
    void add_receive(core::Buffer buffer, Rank source) { from_.push_back({buffer, source, {}}); }

    // Reports and comparisons call it `name`, which must outlive the schedule.
    void start(std::string_view name = "exchange", const Call& call = {}) {
        posted_ = false;
        begin(name, call);
    }

  private:
    struct Message {
        core::Buffer buffer;
        Rank peer;
        std::optional<routing::Direction> link;
    };
    bool step() override;

    std::vector<Message> to_;
    std::vector<Message> from_;
    bool posted_ = false;
};

}  // namespace torusmp::collectives
