// SPDX-License-Identifier: BSD-3-Clause
// An interface in another network namespace: whoever calls it is there for as long.
#pragma once

#include <fcntl.h>
#include <sched.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "core/transport/api/interface.h"

namespace torusmp::transport::testing {

// This thread goes there and stays; an empty path is where it is.
inline void enter_namespace(const std::string& path) {
    if (path.empty()) return;
    const base::Descriptor there(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (setns(there.get(), CLONE_NEWNET) != 0)
        throw std::runtime_error("cannot enter the network namespace " + path);
}

class Elsewhere final : public Interface {
  public:
    Elsewhere(std::unique_ptr<Interface> inside, std::string path)
        : Interface(inside->name(), inside->can()),
          inside_(std::move(inside)),
          path_(std::move(path)) {}

    std::vector<std::byte> address() const override { return inside_->address(); }
    Channel& connect(ConstBytes peer, const ChannelOptions& options) override {
        enter_namespace(path_);
        return inside_->connect(peer, options);
    }
    void say_goodbye() override { inside_->say_goodbye(); }
    int poll(Sink& sink) override {
        enter_namespace(path_);
        return inside_->poll(sink);
    }
    bool idle() const override { return inside_->idle(); }
    std::string statistics() const override { return inside_->statistics(); }
    RemoteMemory register_memory(Bytes memory, const Channel* channel) override {
        return inside_->register_memory(memory, channel);
    }
    void deregister_memory(const RemoteMemory& memory) override {
        inside_->deregister_memory(memory);
    }
    Bytes registered(const RemoteMemory& memory, std::size_t offset, std::size_t bytes) override {
        return inside_->registered(memory, offset, bytes);
    }
    Bytes place(const RemoteAddress& target, std::uint32_t port, std::size_t bytes) override {
        return inside_->place(target, port, bytes);
    }
    bool is_mapped(const RemoteMemory& memory) const override { return inside_->is_mapped(memory); }
    void* allocate(std::size_t bytes, std::size_t alignment) override {
        return inside_->allocate(bytes, alignment);
    }
    void free(void* memory) override { inside_->free(memory); }
    void prepare_sleep() override { inside_->prepare_sleep(); }
    void cancel_sleep() override { inside_->cancel_sleep(); }
    void sleep(Clock::time_point deadline) override { inside_->sleep(deadline); }
    int descriptor() override { return inside_->descriptor(); }
    void wake() noexcept override { inside_->wake(); }

  private:
    const std::unique_ptr<Interface> inside_;
    const std::string path_;
};

}  // namespace torusmp::transport::testing
