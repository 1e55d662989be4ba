// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/process_state.h"

namespace torusmp::transport::shm {
namespace {

constexpr std::uint32_t address_magic = 0x746f7235;          // "tor5"
constexpr std::uint64_t control_magic = 0x746f7275736d7031;  // "torusmp1"
// The heap may be small: allocations that do not fit use private memory.
constexpr std::uint64_t smallest_heap = std::uint64_t{1} << 20;
// The heap begins at a page boundary for every page size.
constexpr std::uint64_t largest_page = std::uint64_t{64} << 10;

[[noreturn]] void fail(std::string_view what) {
    throw std::runtime_error(fmt::format("shared memory: {}: {}", what, std::strerror(errno)));
}

// The layout of the file of a rank with these ports.
struct Plan {
    std::vector<std::uint64_t> lines;  // of each port and virtual channel in turn
    std::uint64_t heap_offset = 0;
};

std::uint64_t bulk_stride(const PortOptions& port) {
    return round_up(port.slot_bytes, 64);
}

// The bulk of virtual channel 0, if payloads are placed one behind the other: as many payloads as
// there are slots do not overlap, although the last one before the end may leave a rest.
std::uint64_t round_bytes(const PortOptions& port, std::uint64_t wanted) {
    const std::uint64_t least = (port.credits[0] + std::uint64_t{1}) * bulk_stride(port);
    return wanted == 0 ? 0 : round_up(std::max(wanted, least), 64);
}

Plan plan(const std::vector<PortOptions>& ports, std::uint64_t round) {
    Plan result;
    std::uint64_t at = round_up(sizeof(Control), 64) + ports.size() * sizeof(Port);
    for (const PortOptions& port : ports) {
        for (int k = 0; k < port.virtual_channels; ++k) {
            // Slot queues begin on a page, so that an unused one costs nothing.
            at = round_up(at, page);
            result.lines.push_back(at);
            at += port.credits[k] * line_bytes;
            std::uint64_t bulk = port.credits[k] * bulk_stride(port);
            if (k == 0) bulk = std::max(bulk, round_bytes(port, round));
            at = round_up(at, page) + bulk;
        }
    }
    result.heap_offset = round_up(at, largest_page);
    return result;
}

std::uint64_t random_nonce() {
    std::uint64_t nonce = 0;
    if (getrandom(&nonce, sizeof nonce, 0) != ssize_t(sizeof nonce)) fail("getrandom");
    return nonce;
}

std::uint64_t limit(auto which) {
    rlimit found{};
    return getrlimit(which, &found) == 0 ? found.rlim_cur : RLIM_INFINITY;
}

// Explains why a mapping does not fit: the limit, if any, and its value.
std::string want_of_address_space() {
    const std::uint64_t most = limit(RLIMIT_AS);
    if (most == RLIM_INFINITY) return "the address space of this process is used up";
    return fmt::format("this process may have {} MiB of address space (ulimit -v {})", most >> 20,
                       most >> 10);
}

// Whether there is room for that many mappings of this size, and the same again for the program.
bool fits(std::uint64_t bytes, std::uint64_t mappings) {
    if (bytes > (std::uint64_t{1} << 62) / mappings) return false;
    const std::uint64_t room = 2 * mappings * bytes;
    void* const trial =
        mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (trial == MAP_FAILED) return false;
    munmap(trial, room);
    return true;
}

// Maps the file with as large a heap as the limits of this process allow. Its peers are assumed to
// have the same limits: each maps this segment, and this process theirs, `mappings` in all.
std::pair<std::byte*, std::uint64_t> map_with_heap(int descriptor, std::uint64_t heap_offset,
                                                   std::uint64_t mappings) {
    const auto memory =
        std::uint64_t(sysconf(_SC_PHYS_PAGES)) * std::uint64_t(sysconf(_SC_PAGESIZE));
    const std::uint64_t largest_file = limit(RLIMIT_FSIZE);
    std::uint64_t heap = round_up(2 * memory, largest_page);  // both of its parts
    while (heap_offset + heap > largest_file || !fits(heap_offset + heap, mappings)) {
        heap = round_up(heap / 2, largest_page);
        if (heap >= smallest_heap) continue;
        const std::uint64_t least = heap_offset + smallest_heap;
        throw std::runtime_error(
            least > largest_file
                ? fmt::format("shared memory: this process may create files of at most {} KiB "
                              "(ulimit -f), but its segment needs {} KiB: raise the limit, or set "
                              "transport.use to tcp",
                              largest_file >> 10, least >> 10)
                : fmt::format("shared memory: {}; the segments of {} ranks of this host need {} "
                              "MiB in addition to the memory in use, half of it for the program: "
                              "raise the limit, or set transport.use to tcp",
                              want_of_address_space(), mappings, 2 * mappings * least >> 20));
    }
    const std::uint64_t bytes = heap_offset + heap;
    if (ftruncate(descriptor, off_t(bytes)) != 0) fail("cannot size the segment");
    void* const base =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (base == MAP_FAILED) fail(fmt::format("cannot map {} MiB", bytes >> 20));
    return {static_cast<std::byte*>(base), bytes};
}

// Why the kernel does not let this process open a descriptor of the other.
std::string why_closed(std::uint32_t process, int error) {
    // A process closes its descriptors before it ends, and then belongs to root.
    const auto state = base::process_state(pid_t(process));
    if (state.exists() && state.ended()) return "that process has ended";
    const std::string folder = fmt::format("/proc/{}", process);
    struct stat owner {
    }, descriptors{};
    const bool known =
        stat(folder.c_str(), &owner) == 0 && stat((folder + "/fd").c_str(), &descriptors) == 0;
    if (!known)
        return fmt::format(
            "{}; that process has ended, or does not share /proc with this one: the ranks of one "
            "host must see each other there (one PID namespace, /proc without hidepid)",
            std::strerror(error));
    if (owner.st_uid != geteuid())
        return fmt::format(
            "{}; that process runs as user {}, this one as user {}: the ranks of "
            "one host must run as one user",
            std::strerror(error), owner.st_uid, geteuid());
    if (error == ENOENT)
        return fmt::format(
            "{}; that process has closed the descriptor: a program must not close descriptors "
            "that it has not opened",
            std::strerror(error));
    // /proc/PID/fd of a process that is not dumpable belongs to root.
    if (descriptors.st_uid != owner.st_uid)
        return fmt::format(
            "{}; that process is not dumpable, so the kernel closes its "
            "descriptors to others of its user: its program has capabilities or a "
            "set-user-ID bit, may not be read by its user, or calls "
            "prctl(PR_SET_DUMPABLE, 0): expected none of these",
            std::strerror(error));
    return fmt::format(
        "{}; it has capabilities, a user namespace or a security policy that this process does "
        "not have: all ranks of a host must run with the same privileges",
        std::strerror(error));
}

}  // namespace

Port& Segment::port(std::size_t index) const {
    return reinterpret_cast<Port*>(base_ + round_up(sizeof(Control), 64))[index];
}

Port* Segment::find_port(std::uint32_t wanted) const {
    for (std::size_t i = 0; i < control().port_count; ++i)
        if (port(i).port == wanted) return &port(i);
    return nullptr;
}

std::unique_ptr<Segment> Segment::create(const std::vector<PortOptions>& ports, bool with_bell,
                                         std::uint64_t round) {
    std::array<int, 2> bell{-1, -1};
    if (with_bell && pipe2(bell.data(), O_CLOEXEC | O_NONBLOCK) != 0) fail("pipe");
    base::Descriptor bell_read(bell[0]);
    base::Descriptor bell_write(bell[1]);
    const int descriptor = memfd_create("torusmp", MFD_CLOEXEC);
    if (descriptor < 0) fail("memfd_create");
    const Plan layout = plan(ports, round);
    std::pair<std::byte*, std::uint64_t> mapping;
    try {
        mapping = map_with_heap(descriptor, layout.heap_offset, 1 + ports.size());
    } catch (...) {
        ::close(descriptor);
        throw;
    }
    const Address address{address_magic,
                          std::uint32_t(getpid()),
                          std::uint32_t(descriptor),
                          bell_write ? std::uint32_t(bell_write.get()) : no_bell,
                          random_nonce(),
                          mapping.second};
    std::unique_ptr<Segment> segment(new Segment(descriptor, mapping.first, address));
    segment->bell_read_ = std::move(bell_read);
    segment->bell_write_ = std::move(bell_write);
    segment->probe_ = std::make_unique<std::uint64_t>(address.nonce);

    auto* control = ::new (mapping.first) Control{};
    control->nonce = address.nonce;
    control->heap_offset = layout.heap_offset;
    control->heap_bytes = mapping.second - layout.heap_offset;
    control->program_bytes = control->heap_bytes / 2 / largest_page * largest_page;
    control->heap_address =
        std::uint64_t(reinterpret_cast<std::uintptr_t>(mapping.first)) + layout.heap_offset;
    control->probe_address = std::uint64_t(reinterpret_cast<std::uintptr_t>(segment->probe_.get()));
    control->port_count = std::uint32_t(ports.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        Port* port = ::new (&segment->port(i)) Port{};
        port->port = ports[i].port;
        port->virtual_channels = std::uint32_t(ports[i].virtual_channels);
        port->bulk_stride = bulk_stride(ports[i]);
        port->round_bytes = round_bytes(ports[i], round);
        for (int k = 0; k < ports[i].virtual_channels; ++k) {
            port->lines[k] = layout.lines[next++];
            port->slots[k] = ports[i].credits[k];
        }
    }
    control->magic = control_magic;
    return segment;
}

std::unique_ptr<Segment> Segment::open(const Address& address) {
    const std::string path = fmt::format("/proc/{}/fd/{}", address.pid, address.descriptor);
    const auto refuse = [&](std::string_view why) {
        throw std::runtime_error(
            fmt::format("shared memory of process {} ({}): {}", address.pid, path, why));
    };
    if (address.magic != address_magic) refuse("its address has the format of another version");
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) refuse(why_closed(address.pid, errno));
    struct stat status {};
    void* base = MAP_FAILED;
    if (fstat(descriptor, &status) == 0 && std::uint64_t(status.st_size) == address.bytes)
        base = mmap(nullptr, address.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    descriptor, 0);
    const int error = errno;
    ::close(descriptor);
    if (base == MAP_FAILED)
        refuse(std::uint64_t(status.st_size) != address.bytes
                   ? fmt::format("it has {} B, expected {}", status.st_size, address.bytes)
               : error == ENOMEM ? fmt::format("cannot map its {} MiB: {}; raise the limit, or set "
                                               "transport.use to tcp",
                                               address.bytes >> 20, want_of_address_space())
                                 : std::string(std::strerror(error)));
    std::unique_ptr<Segment> segment(new Segment(-1, static_cast<std::byte*>(base), address));
    if (segment->control().magic != control_magic || segment->control().nonce != address.nonce)
        refuse("it belongs to another user");
    if (address.bell != no_bell) {
        // Also for reading: the bell of an owner that has died must not raise SIGPIPE here.
        const std::string bell = fmt::format("/proc/{}/fd/{}", address.pid, address.bell);
        segment->bell_write_ =
            base::Descriptor(::open(bell.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
        if (!segment->bell_write_) refuse("its bell: " + why_closed(address.pid, errno));
    }
    return segment;
}

void Segment::wake() const noexcept {
    std::atomic<std::uint32_t>& sleeping = control().sleeping;
    if (sleeping.load(std::memory_order_relaxed) == 0) return;
    const std::uint32_t how = sleeping.exchange(0, std::memory_order_acq_rel);
    if (how == sleeps_on_futex)
        syscall(SYS_futex, &sleeping, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    else if (how == sleeps_on_bell &&
             write(bell_write_ ? bell_write_.get() : late_bell(), "", 1) < 0)
        return;  // full: it has already been rung
}

void Segment::add_bell() {
    if (bell_read_) return;
    std::array<int, 2> bell{-1, -1};
    if (pipe2(bell.data(), O_CLOEXEC | O_NONBLOCK) != 0) fail("pipe");
    bell_read_ = base::Descriptor(bell[0]);
    bell_write_ = base::Descriptor(bell[1]);
    control().late_bell.store(std::uint32_t(bell[1]), std::memory_order_release);
}

// Takes no lock and allocates nothing, because this may be a signal handler. Two threads may both
// open the bell; one of them closes its descriptor again. After the owner's death, its number may
// belong to another process.
int Segment::late_bell() const noexcept {
    const int known = late_bell_.load(std::memory_order_acquire);
    if (known >= 0) return known;
    char path[64];
    *fmt::format_to_n(path, sizeof path - 1, "/proc/{}/fd/{}", address_.pid,
                      control().late_bell.load(std::memory_order_acquire))
         .out = '\0';
    const int opened = ::open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct stat status {};
    if (opened >= 0 && (fstat(opened, &status) != 0 || !S_ISFIFO(status.st_mode))) {
        ::close(opened);
        return -1;
    }
    int none = -1;
    if (opened < 0 || late_bell_.compare_exchange_strong(none, opened)) return opened;
    ::close(opened);
    return none;
}

void Segment::silence_bell() const {
    std::array<char, 64> rings;
    while (read(bell_read_.get(), rings.data(), rings.size()) == ssize_t(rings.size())) {
    }
}

Segment::Segment(int descriptor, std::byte* base, const Address& address)
    : descriptor_(descriptor), base_(base), address_(address) {
    // Otherwise a core dump would write the whole sparse file, once for every peer, and fill its
    // holes.
    madvise(base_, address_.bytes, MADV_DONTDUMP);
}

void Segment::show_in_dumps(Bytes pages, bool shown) {
    if (!pages.empty()) madvise(pages.data(), pages.size(), shown ? MADV_DODUMP : MADV_DONTDUMP);
}

bool Segment::discard(Bytes pages) const {
    return fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     off_t(pages.data() - base_), off_t(pages.size())) == 0;
}

void Segment::discard_program_part() const {
    const auto owner = base::process_state(pid_t(address_.pid));
    const Bytes memory = program_part();
    if (owner.exists() && !owner.ended()) return;
    control().discarded.store(1, std::memory_order_seq_cst);
    madvise(memory.data(), memory.size(), MADV_REMOVE);
}

// A child that could still write to its parent's data ends.
void Segment::make_private(Bytes pages) const {
    const void* const made =
        mmap(pages.data(), pages.size(), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, descriptor_, off_t(pages.data() - base_));
    if (made == MAP_FAILED) std::abort();
}

Segment::~Segment() {
    munmap(base_, address_.bytes);
    if (late_bell_ >= 0) ::close(late_bell_);
    if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace torusmp::transport::shm
