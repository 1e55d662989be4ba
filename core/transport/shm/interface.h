// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the ranks of one host.
//
// Each ordered pair of ports has its own slot queue in the receiver's segment: one writer, one
// reader, no lock. A slot's header has a stamp, written last, with the number of its turn in the
// slot queue, so a poll reads one cache line and an 8-byte message travels in that same line.
//
// Large messages take one copy: a plain store or load if the other side is in a segment's heap,
// process_vm_writev/readv if the kernel permits it. If not, can_write() and can_read() return false
// and core sends packets, which makes two copies in a pipeline.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/transport/api/interface.h"
#include "core/transport/shm/cross_memory.h"
#include "core/transport/shm/heap.h"
#include "core/transport/shm/segment.h"
#include "core/transport/shm/settings.h"

namespace torusmp::transport::shm {

struct InterfaceOptions {
    CopyMode copy = setting::copy.initial();  // of large messages to private memory
    Malloc large_blocks = Malloc::separate;   // of the program
    bool oversubscribed = false;              // ranks outnumber cores
    bool by_descriptor = false;  // sleep on descriptor(), together with other interfaces
};

class ShmChannel;

class ShmInterface final : public Interface {
  public:
    // Throws std::runtime_error if the segment cannot be created.
    ShmInterface(const std::vector<PortOptions>& ports, const InterfaceOptions& options);
    ~ShmInterface() override;

    std::vector<std::byte> address() const override;
    Channel& connect(ConstBytes peer_address, const ChannelOptions& options) override;
    int poll(Sink& sink) override;
    RemoteMemory register_memory(Bytes memory, const Channel* channel) override;
    double copy_rate() override;
    bool is_mapped(const RemoteMemory& memory) const override;
    void* allocate(std::size_t bytes, std::size_t alignment) override;
    void free(void* memory) override;
    void prepare_sleep() override;
    void cancel_sleep() override;
    void sleep(Clock::time_point deadline) override;
    int descriptor() override { return segment_->bell(); }
    void want_descriptor() override { segment_->add_bell(); }
    void wake() noexcept override;
    bool sleepers_fence() const override { return segment_->control().sleeper_fences != 0; }

  private:
    void serve_program(Malloc wish);
    const Segment& peer_segment(const Address& address);

    InterfaceOptions options_;
    CrossMemory cross_memory_;
    std::unique_ptr<Segment> segment_;
    Heap heap_;
    std::unique_ptr<Heap> program_heap_;  // null if malloc() does not use it
    bool reaches_all_ = true;             // the kernel permits access to the memory of all peers
    bool registered_ = false;             // with membarrier, so that sleepers can fence it
    std::uint32_t knocks_seen_ = 0;
    std::uint32_t calls_seen_ = 0;
    std::vector<std::unique_ptr<Segment>> peers_;
    std::vector<std::unique_ptr<ShmChannel>> channels_;
};

}  // namespace torusmp::transport::shm
