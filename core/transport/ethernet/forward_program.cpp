// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/forward_program.h"

#include <fmt/format.h>
#include <linux/pkt_cls.h>

#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "core/transport/common/crc32c.h"

namespace torusmp::transport::ethernet {
namespace {

using routing::Direction;
using routing::Torus;

constexpr std::int32_t most_steps = std::numeric_limits<std::int32_t>::max();

// Registers; those below r6 do not survive a call.
enum Register : std::uint8_t { r0, r1, r2, r3, r4, r5, r6, r7, r8 };

// Emits instructions; jumps go forward, to marks that are set later.
class Writer {
  public:
    using Mark = std::size_t;

    Mark mark() {
        jumps_.emplace_back();
        return jumps_.size() - 1;
    }
    void set(Mark mark) {
        for (const std::size_t from : jumps_[mark])
            code_[from].off = std::int16_t(code_.size() - from - 1);
        jumps_[mark].clear();
    }

    void load(std::uint8_t width, Register to, Register base, std::size_t offset) {
        put(BPF_LDX | BPF_MEM | width, to, base, std::int16_t(offset), 0);
    }
    void store_byte(Register base, std::size_t offset, Register from) {
        put(BPF_STX | BPF_MEM | BPF_B, base, from, std::int16_t(offset), 0);
    }
    void copy(Register to, Register from) { put(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
    void put_number(Register to, std::int32_t value) {
        put(BPF_ALU64 | BPF_MOV | BPF_K, to, r0, 0, value);
    }
    void add(Register to, std::int32_t value) {
        put(BPF_ALU64 | BPF_ADD | BPF_K, to, r0, 0, value);
    }
    void negate(Register it) { put(BPF_ALU64 | BPF_NEG, it, r0, 0, 0); }
    void jump_if(std::uint8_t condition, Register left, std::int32_t right, Mark to) {
        jumps_[to].push_back(code_.size());
        put(std::uint8_t(BPF_JMP | condition | BPF_K), left, r0, 0, right);
    }
    void jump_if(std::uint8_t condition, Register left, Register right, Mark to) {
        jumps_[to].push_back(code_.size());
        put(std::uint8_t(BPF_JMP | condition | BPF_X), left, right, 0, 0);
    }
    void jump(Mark to) {
        jumps_[to].push_back(code_.size());
        put(BPF_JMP | BPF_JA, r0, r0, 0, 0);
    }
    void call(std::int32_t helper) { put(BPF_JMP | BPF_CALL, r0, r0, 0, helper); }
    void exit() { put(BPF_JMP | BPF_EXIT, r0, r0, 0, 0); }
    void exit_with(std::int32_t verdict) {
        put_number(r0, verdict);
        exit();
    }
    std::vector<bpf_insn> take() { return std::move(code_); }

  private:
    void put(int code, Register to, Register from, std::int16_t offset, std::int32_t value) {
        bpf_insn it{};
        it.code = std::uint8_t(code);
        it.dst_reg = to & 0xf;
        it.src_reg = from & 0xf;
        it.off = offset;
        it.imm = value;
        code_.push_back(it);
    }

    std::vector<bpf_insn> code_;
    std::vector<std::vector<std::size_t>> jumps_;  // by mark: the jumps to it
};

// Puts the start of the packet into r7; the verifier permits reads once the end (r8) was compared.
void find_header(Writer& to, Writer::Mark whole) {
    to.load(BPF_W, r7, r6, offsetof(__sk_buff, data));
    to.load(BPF_W, r8, r6, offsetof(__sk_buff, data_end));
    to.copy(r2, r7);
    to.add(r2, std::int32_t(forwarded_header_bytes));
    to.jump_if(BPF_JLE, r2, r8, whole);
}

// The largest distance for which the direction is the shorter way round a dimension.
int straight(const Torus& torus, int node, Direction direction) {
    const auto here = torus.coordinates(node);
    auto there = here;
    int farthest = 0;
    int& it = there[std::size_t(direction.dimension)];
    for (it += direction.sign; it >= 0 && it < torus.extent(direction.dimension);
         it += direction.sign)
        if (torus.offset(node, torus.rank(there), direction.dimension) * direction.sign > 0)
            farthest = (it - here[std::size_t(direction.dimension)]) * direction.sign;
    return farthest;
}

// Weighs one dimension: r2 holds the fewest steps so far, r1 the device that leads there.
void weigh(Writer& to, const Torus& torus, int node, int dimension, const DeviceNumbers& devices,
           Writer::Mark drop) {
    const Writer::Mark next = to.mark(), ahead = to.mark(), behind = to.mark(), chosen = to.mark();
    const auto at = std::size_t(dimension);
    const int extent = torus.extent(dimension);
    to.load(BPF_H, r3, r7,
            ethernet_header_bytes + offsetof(ForwardHeader, to) + at * sizeof(std::uint16_t));
    to.jump_if(BPF_JGE, r3, extent, drop);
    to.add(r3, -torus.coordinates(node)[at]);
    to.jump_if(BPF_JEQ, r3, 0, next);
    to.jump_if(BPF_JSLE, r3, straight(torus, node, {dimension, +1}), ahead);
    to.add(r3, -extent);
    to.jump(behind);
    to.set(ahead);
    to.jump_if(BPF_JSGE, r3, -straight(torus, node, {dimension, -1}), behind);
    to.add(r3, extent);
    to.set(behind);
    to.put_number(r4, std::int32_t(devices[std::size_t(Direction{dimension, +1}.index())]));
    to.jump_if(BPF_JSGT, r3, 0, chosen);
    to.negate(r3);
    to.put_number(r4, std::int32_t(devices[std::size_t(Direction{dimension, -1}.index())]));
    to.set(chosen);
    to.jump_if(BPF_JSGE, r3, r2, next);
    to.copy(r2, r3);
    to.copy(r1, r4);
    to.set(next);
}

}  // namespace

ForwardHeader forward_header(const routing::Coordinates& to) {
    ForwardHeader header{};
    header.version = forward_version;
    header.hops = most_hops;
    for (std::size_t d = 0; d < to.size(); ++d) header.to[d] = std::uint16_t(to[d]);
    return header;
}

std::vector<bpf_insn> forward_program(const Torus& torus, int node, const DeviceNumbers& devices) {
    Writer to;
    const Writer::Mark whole = to.mark(), pass = to.mark(), drop = to.mark();
    to.copy(r6, r1);
    find_header(to, whole);
    // The packet is not linear: pull its first bytes together.
    to.copy(r1, r6);
    to.put_number(r2, std::int32_t(forwarded_header_bytes));
    to.call(BPF_FUNC_skb_pull_data);
    find_header(to, whole);
    to.exit_with(TC_ACT_SHOT);

    to.set(whole);
    to.load(BPF_B, r0, r7, ethernet_header_bytes + offsetof(ForwardHeader, version));
    to.jump_if(BPF_JNE, r0, forward_version, drop);
    to.put_number(r1, 0);
    to.put_number(r2, most_steps);
    for (int d = 0; d < torus.dimensions(); ++d) weigh(to, torus, node, d, devices, drop);
    to.jump_if(BPF_JEQ, r2, most_steps, pass);
    to.jump_if(BPF_JEQ, r1, 0, drop);
    constexpr std::size_t hops_at = ethernet_header_bytes + offsetof(ForwardHeader, hops);
    to.load(BPF_B, r3, r7, hops_at);
    to.jump_if(BPF_JEQ, r3, 0, drop);
    to.add(r3, -1);
    to.store_byte(r7, hops_at, r3);
    to.put_number(r2, 0);
    to.call(BPF_FUNC_redirect);
    to.exit();

    to.set(pass);
    to.exit_with(TC_ACT_OK);
    to.set(drop);
    to.exit_with(TC_ACT_SHOT);
    return to.take();
}

std::string plan_name(const Torus& torus, int node) {
    return fmt::format("{}{}:{}:{}:", name_begin, forward_version, torus.describe(), node);
}

std::string program_name(const Torus& torus, int node, const std::vector<bpf_insn>& program) {
    const auto bytes = std::as_bytes(std::span(program));
    return fmt::format("{}{:08x}", plan_name(torus, node), crc32c(bytes.data(), bytes.size()));
}

}  // namespace torusmp::transport::ethernet
