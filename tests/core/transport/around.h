// SPDX-License-Identifier: BSD-3-Clause
// An interface that forwards all calls to another one, for tests that intercept some of them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/transport/api/interface.h"

namespace torusmp::transport::testing {

class Around : public Interface {
  public:
    explicit Around(std::unique_ptr<Interface> inside)
        : Interface(inside->name(), inside->can()), inside_(std::move(inside)) {}

    std::vector<std::byte> address() const override { return inside_->address(); }
    Channel& connect(ConstBytes peer, const ChannelOptions& options) override {
        return inside_->connect(peer, options);
    }
    void say_goodbye() override { inside_->say_goodbye(); }
    int poll(Sink& sink) override { return inside_->poll(sink); }
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
    void want_descriptor() override { inside_->want_descriptor(); }
    void wake() noexcept override { inside_->wake(); }
    bool sleepers_fence() const override { return inside_->sleepers_fence(); }

  private:
    const std::unique_ptr<Interface> inside_;
};

}  // namespace torusmp::transport::testing
