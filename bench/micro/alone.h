// SPDX-License-Identifier: BSD-3-Clause
// A Runtime that is alone on its torus: it sends to itself, through packets, credits and matching
// like all messages, so the measurement involves no other process.
#pragma once

#include <chrono>
#include <memory>

#include "core/api.h"
#include "core/settings.h"
#include "core/transport/sim/world.h"

namespace torusmp::bench {

class Alone {
  public:
    Alone() : runtime_(options(), [this](const auto& ports) { return open(ports); }) {
        runtime_.connect({runtime_.address()});
    }

    core::Runtime& operator*() { return runtime_; }
    core::Runtime* operator->() { return &runtime_; }

  private:
    static core::Options options() {
        const int one = 1;
        core::Options options{
            .torus = routing::Torus({&one, 1}), .direct = {}, .log = {}, .name_of = {}};
        options.set(core::setting::watchdog, std::chrono::nanoseconds(0));
        return options;
    }
    std::unique_ptr<transport::Interface> open(const std::vector<transport::PortOptions>& ports) {
        return world_.create({ports});
    }

    transport::sim::World world_{transport::sim::WorldOptions{}};
    core::Runtime runtime_;
};

}  // namespace torusmp::bench
