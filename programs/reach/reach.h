// SPDX-License-Identifier: BSD-3-Clause
// How torus-check and torus-setup reach the hosts: starts a program on each, and carries lines to
// and fro.
//
// Used by one thread, which also calls the listener.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace torusmp::reach {

class Reach {
  public:
    struct Listener {
        virtual void said(int node, std::string_view text) = 0;
        // Called once, unless the node was dropped; no more lines follow. `why` is meant for
        // people. A program that ends is lost, too.
        virtual void lost(int node, const std::string& why) = 0;
        virtual ~Listener() = default;
    };

    virtual ~Reach() = default;
    // Starts the program on every host. A host whose start fails immediately is lost.
    virtual void start(Listener& listener) = 0;
    virtual void send(int node, const std::string& text) = 0;
    // Ends the program of that host.
    virtual void drop(int node) = 0;
    // Handles lines from the hosts, for at most `wait`.
    virtual void serve(std::chrono::milliseconds wait) = 0;
};

struct Plan {
    std::vector<std::string> hosts;    // by node
    std::vector<std::string> command;  // the program for each host, as the hosts know it
    // The rest matters only with launch.through = "torus".
    std::optional<int> here;  // this host among them; nothing: it is not in the torus
    std::string torus_run;    // as the hosts know it
    // Whether the links of the settings define the neighbours. Otherwise each host tries all others
    // by their names or, if the agent accepts addresses, those that answer on its links.
    bool links_known = true;
};

// The index of this host, whose name is `here` or the system's; nothing if it is not one of
// `hosts`. Throws config::UsageError if `here` is not one of them.
std::optional<int> own_place(const std::vector<std::string>& hosts,
                             const std::optional<std::string>& here);

// As launch.through says: by an agent for each host, or from neighbour to neighbour. `settings`
// must outlive the result, whose destructor ends what it started.
std::unique_ptr<Reach> reach_hosts(const config::Settings& settings, Plan plan);

}  // namespace torusmp::reach
