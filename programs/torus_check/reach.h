// SPDX-License-Identifier: BSD-3-Clause
// How torus-check reaches the probes on the hosts: starts them, and carries lines to and fro.
//
// Used by one thread, which also calls the listener.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace torusmp::check {

class Reach {
  public:
    struct Listener {
        virtual void said(int node, std::string_view text) = 0;
        // Once, unless the node was dropped; nothing more comes from it. `why`: for people.
        virtual void lost(int node, const std::string& why) = 0;
        virtual ~Listener() = default;
    };

    virtual ~Reach() = default;
    // Begins to start a probe on every host. What cannot even be begun is lost at once.
    virtual void start(Listener& listener) = 0;
    virtual void send(int node, const std::string& text) = 0;
    // Ends the probe of that host.
    virtual void drop(int node) = 0;
    // Waits for what the hosts say, at most so long.
    virtual void serve(std::chrono::milliseconds wait) = 0;
};

// Each host by its name, through an agent of its own. Ends what it started when it is destroyed.
std::unique_ptr<Reach> reach_by_agents(const std::string& agent, const std::string& program,
                                       const std::vector<std::string>& hosts);

}  // namespace torusmp::check
