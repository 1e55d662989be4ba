// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/interface.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "core/transport/shm/channel.h"

namespace torusmp::transport::shm {
namespace {

long membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0);
}

// From this many peers on, their rounds together would not stay in the shared cache.
constexpr std::size_t most_rounds = 16;

// Bytes through which payloads of one peer follow each other: twice a core's private cache, so that
// lines have left it before they are used again. 0: no round. See OutSlotQueue.
std::uint64_t round_bytes(std::size_t ports, bool oversubscribed) {
    if (oversubscribed || ports > most_rounds) return 0;
    constexpr long usual = 1 << 20;
    const long found = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return 2 * std::uint64_t(std::clamp(found > 0 ? found : usual, usual / 4, 4 * usual));
}

}  // namespace

ShmInterface::ShmInterface(const std::vector<PortOptions>& ports, const InterfaceOptions& options)
    : Interface("shm", capabilities),
      options_(options),
      cross_memory_(options.copy, options.oversubscribed),
      segment_(Segment::create(ports, options.by_descriptor,
                               round_bytes(ports.size(), options.oversubscribed))),
      heap_(*segment_, segment_->library_part()) {
    // If ranks rarely sleep, the sleeper orders its sleep against the sends of others, with
    // membarrier(2), and senders pay nothing. If ranks outnumber cores they sleep all the time, and
    // each sender uses a fence.
    registered_ = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
    segment_->control().sleeper_fences = registered_ && !options_.oversubscribed ? 1 : 0;
    serve_program(options.large_blocks);
}

// The first interface of the process does.
void ShmInterface::serve_program(Malloc wish) {
    const std::size_t end = end_of_large_blocks(wish);
    if (end <= least_large_block) return;
    auto heap = std::make_unique<Heap>(*segment_, segment_->program_part());
    if (base::large_blocks.begin(*heap, least_large_block, end, heap->memory().data(),
                                 heap->memory().size()))
        program_heap_ = std::move(heap);
}

ShmInterface::~ShmInterface() {
    if (program_heap_ == nullptr) return;
    // The program may use its blocks for as long as it runs.
    base::large_blocks.stop();
    static_cast<void>(program_heap_.release());
    static_cast<void>(segment_.release());
}

std::vector<std::byte> ShmInterface::address() const {
    const auto bytes = std::as_bytes(std::span(&segment_->address(), 1));
    return {bytes.begin(), bytes.end()};
}

const Segment& ShmInterface::peer_segment(const Address& address) {
    for (const auto& segment : peers_)
        if (segment->address().nonce == address.nonce && segment->address().pid == address.pid)
            return *segment;
    peers_.push_back(Segment::open(address));
    return *peers_.back();
}

Channel& ShmInterface::connect(ConstBytes peer_address, const ChannelOptions& options) {
    Address address{};
    if (peer_address.size() != sizeof address)
        throw std::runtime_error(
            fmt::format("shared memory: a peer's address has {} B, expected {}",
                        peer_address.size(), sizeof address));
    std::memcpy(&address, peer_address.data(), sizeof address);
    const Segment& peer = peer_segment(address);
    Port* local = segment_->find_port(options.local_port);
    Port* remote = peer.find_port(options.remote_port);
    if (local == nullptr || remote == nullptr ||
        local->virtual_channels != remote->virtual_channels)
        throw std::runtime_error(fmt::format(
            "shared memory: port {} here and port {} of process {} do not match; were all ranks "
            "started with the same settings?",
            options.local_port, options.remote_port, address.pid));
    const bool fence = !(registered_ && peer.control().sleeper_fences != 0);
    channels_.push_back(
        std::make_unique<ShmChannel>(*segment_, *local, peer, *remote, fence, cross_memory_));
    reaches_all_ = reaches_all_ && channels_.back()->reachable();
    // Knock, unless the peer has already connected this port.
    std::uint32_t unconnected = 0;
    if (remote->active.compare_exchange_strong(unconnected, 1)) {
        peer.control().knocks.fetch_add(1, std::memory_order_release);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        peer.wake();
    }
    // We have connected: the peer's knock on this port no longer needs an answer.
    local->active.store(2, std::memory_order_release);
    return *channels_.back();
}

int ShmInterface::poll(Sink& sink) {
    int taken = 0;
    for (std::size_t i = 0; i < channels_.size(); ++i)
        if (channels_[i]->has_packets()) taken += channels_[i]->poll(sink);
    if (const std::uint32_t calls = segment_->control().calls.load(std::memory_order_relaxed);
        calls != calls_seen_) {
        calls_seen_ = calls;
        for (const auto& channel : channels_) channel->help();
    }
    if (cross_memory_.pending != 0) [[unlikely]]
        for (std::size_t i = 0; i < channels_.size(); ++i) channels_[i]->end_copy(sink);
    const std::uint32_t knocks = segment_->control().knocks.load(std::memory_order_acquire);
    if (knocks == knocks_seen_) [[likely]]
        return taken;
    knocks_seen_ = knocks;
    for (std::size_t i = 0; i < segment_->control().port_count; ++i) {
        std::uint32_t knocked = 1;
        if (segment_->port(i).active.compare_exchange_strong(knocked, 2))
            sink.on_connect(segment_->port(i).port);
    }
    return taken;
}

RemoteMemory ShmInterface::register_memory(Bytes memory, const Channel* /*channel*/) {
    RemoteMemory remote{
        std::uint64_t(reinterpret_cast<std::uintptr_t>(memory.data())), memory.size(), 0, {}};
    Key key{KeyKind::process, 0};
    if (lies_in(memory, segment_->heap()))
        key = {KeyKind::heap, std::uint64_t(memory.data() - segment_->heap().data())};
    remote.set(key);
    return remote;
}

double ShmInterface::copy_rate() {
    return reaches_all_ ? cross_memory_.kernel_rate() : 0;
}

bool ShmInterface::is_mapped(const RemoteMemory& memory) const {
    return memory.as<Key>().kind == KeyKind::heap;
}

void* ShmInterface::allocate(std::size_t bytes, std::size_t alignment) {
    if (void* const memory = heap_.allocate(bytes, alignment)) return memory;
    // Limits may make the heap small; private memory works too, but is slower.
    const std::size_t align = std::max<std::size_t>(alignment, 64);
    const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), align);
    return size < bytes ? nullptr : std::aligned_alloc(align, size);
}

void ShmInterface::free(void* memory) {
    if (memory == nullptr || heap_.contains(memory, 0))
        heap_.free(memory);
    else
        std::free(memory);
}

void ShmInterface::prepare_sleep() {
    Control& control = segment_->control();
    if (segment_->bell() >= 0) segment_->silence_bell();
    control.sleeping.store(segment_->bell() >= 0 ? sleeps_on_bell : sleeps_on_futex,
                           std::memory_order_relaxed);
    // Makes the store visible before the last poll, whose loads could otherwise move ahead of a
    // mere sequentially consistent store.
    if (control.sleeper_fences != 0)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);  // a fence here too
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
}

void ShmInterface::cancel_sleep() {
    segment_->control().sleeping.store(0, std::memory_order_relaxed);
}

void ShmInterface::sleep(Clock::time_point deadline) {
    Control& control = segment_->control();
    const auto left = deadline - Clock::now();
    timespec time{};
    const bool forever = deadline == Clock::time_point::max();
    if (!forever) {
        if (left.count() <= 0) return;
        const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
        time.tv_sec = nanoseconds / 1'000'000'000;
        time.tv_nsec = nanoseconds % 1'000'000'000;
    }
    if (segment_->bell() >= 0) {
        pollfd bell{segment_->bell(), POLLIN, 0};
        ppoll(&bell, 1, forever ? nullptr : &time, nullptr);
        return;
    }
    syscall(SYS_futex, &control.sleeping, FUTEX_WAIT, sleeps_on_futex, forever ? nullptr : &time,
            nullptr, 0);
}

void ShmInterface::wake() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    segment_->wake();
}

}  // namespace torusmp::transport::shm
