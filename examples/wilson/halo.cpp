// SPDX-License-Identifier: BSD-3-Clause
#include "halo.h"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace wilson {

namespace {

class QmpHalo final : public HaloExchange {
  public:
    QmpHalo(const Lattice& lattice, int parity, std::size_t bytes,
            std::span<const int> send_directions);
    void start() override;
    void wait() override;

  private:
    struct FreeMemory {
        void operator()(QMP_mem_t* m) const { QMP_free_memory(m); }
    };
    struct FreeMessageMemory {
        void operator()(QMP_msgmem_t m) const { QMP_free_msgmem(m); }
    };
    struct FreeHandle {
        void operator()(QMP_msghandle_t h) const { QMP_free_msghandle(h); }
    };
    struct Buffer {
        std::unique_ptr<QMP_mem_t, FreeMemory> memory;
        std::unique_ptr<std::remove_pointer_t<QMP_msgmem_t>, FreeMessageMemory> message;
    };

    // Returns the message of a buffer for `pointer`.
    QMP_msgmem_t allocate(std::size_t bytes, void*& pointer);

    std::vector<Buffer> buffers_;
    std::unique_ptr<std::remove_pointer_t<QMP_msghandle_t>, FreeHandle>
        all_;  // freed before the buffers
};

QMP_msgmem_t QmpHalo::allocate(std::size_t bytes, void*& pointer) {
    Buffer b;
    b.memory.reset(QMP_allocate_memory(bytes));
    if (!b.memory) throw std::runtime_error(fmt::format("no memory for a face of {} bytes", bytes));
    pointer = QMP_get_memory_pointer(b.memory.get());
    b.message.reset(QMP_declare_msgmem(pointer, bytes));
    if (!b.message) throw std::runtime_error("QMP_declare_msgmem failed");
    buffers_.push_back(std::move(b));
    return buffers_.back().message.get();
}

QmpHalo::QmpHalo(const Lattice& lattice, int parity, std::size_t bytes,
                 std::span<const int> send_directions) {
    std::vector<QMP_msghandle_t> handles;
    const auto keep = [&](QMP_msghandle_t handle) {
        if (!handle) throw std::runtime_error("QMP could not declare a channel to a neighbour");
        handles.push_back(handle);
    };
    const auto sign = [](int direction) { return direction % 2 == 0 ? +1 : -1; };
    for (const int to : send_directions) {
        const int from = opposite(to);
        // The halo from one side belongs to the sites of the other parity on that side.
        const std::size_t coming = lattice.face(1 - parity, from).size() * bytes;
        const std::size_t going = lattice.face(parity, to).size() * bytes;
        if (coming > 0)
            keep(
                QMP_declare_receive_relative(allocate(coming, in_[from]), from / 2, sign(from), 0));
        if (going > 0) {
            bytes_sent_ += going;
            keep(QMP_declare_send_relative(allocate(going, out_[to]), to / 2, sign(to), 0));
        }
    }
    if (handles.empty()) return;
    // From here on the multiple owns its parts: one start and one wait for all of them.
    all_.reset(QMP_declare_multiple(handles.data(), static_cast<int>(handles.size())));
    if (!all_) throw std::runtime_error("QMP_declare_multiple failed");
}

void QmpHalo::start() {
    if (all_) check(QMP_start(all_.get()), "QMP_start");
}

void QmpHalo::wait() {
    if (all_) check(QMP_wait(all_.get()), "QMP_wait");
}

}  // namespace

std::unique_ptr<HaloExchange> make_qmp_halo(const Lattice& lattice, int parity, std::size_t bytes,
                                            std::span<const int> send_directions) {
    return std::make_unique<QmpHalo>(lattice, parity, bytes, send_directions);
}

void global_sum(std::span<double> values, Stopwatch& communication) {
    communication.time([&] {
        check(QMP_sum_double_array(values.data(), static_cast<int>(values.size())),
              "QMP_sum_double_array");
    });
}

void agree(const std::string& trouble) {
    std::uint64_t length = trouble.size();
    check(QMP_broadcast(&length, sizeof length), "QMP_broadcast");
    if (length == 0) return;
    std::string text = trouble;
    text.resize(length);
    check(QMP_broadcast(text.data(), length), "QMP_broadcast");
    throw InputError(text);
}

void check(QMP_status_t status, const char* call) {
    if (status != QMP_SUCCESS)
        throw std::runtime_error(fmt::format("{}: {}", call, QMP_error_string(status)));
}

}  // namespace wilson
