// SPDX-License-Identifier: BSD-3-Clause
// An interface in another network namespace, which the caller enters for each call.
#pragma once

#include <fcntl.h>
#include <sched.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "around.h"
#include "base/descriptor.h"

namespace torusmp::transport::testing {

// This thread goes there and stays; an empty path is where it is.
inline void enter_namespace(const std::string& path) {
    if (path.empty()) return;
    const base::Descriptor there(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (setns(there.get(), CLONE_NEWNET) != 0)
        throw std::runtime_error("cannot enter the network namespace " + path);
}

class Elsewhere final : public Around {
  public:
    Elsewhere(std::unique_ptr<Interface> inside, std::string path)
        : Around(std::move(inside)), path_(std::move(path)) {}

    Channel& connect(ConstBytes peer, const ChannelOptions& options) override {
        enter_namespace(path_);
        return Around::connect(peer, options);
    }
    int poll(Sink& sink) override {
        enter_namespace(path_);
        return Around::poll(sink);
    }

  private:
    const std::string path_;
};

}  // namespace torusmp::transport::testing
