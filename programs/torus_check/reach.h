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

namespace torusmp::torus_check {

class Reach {
  public:
    struct Listener {
        virtual void said(int node, std::string_view text) = 0;
        // Called once, unless the node was dropped; no more lines follow. `why` is meant for
        // people.
        virtual void lost(int node, const std::string& why) = 0;
        virtual ~Listener() = default;
    };

    virtual ~Reach() = default;
    // Starts a probe on every host. A host whose start fails immediately is lost.
    virtual void start(Listener& listener) = 0;
    virtual void send(int node, const std::string& text) = 0;
    // Ends the probe of that host.
    virtual void drop(int node) = 0;
    // Handles lines from the hosts, for at most `wait`.
    virtual void serve(std::chrono::milliseconds wait) = 0;
};

// Reaches each host by its name through a separate agent. Its destructor ends what it started.
std::unique_ptr<Reach> reach_by_agents(const std::string& agent, const std::string& program,
                                       const std::vector<std::string>& hosts);

}  // namespace torusmp::torus_check
