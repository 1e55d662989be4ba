// SPDX-License-Identifier: BSD-3-Clause
// The program that forwards frames, run without a kernel by an interpreter of the few instructions
// that it uses. tests/ethernet tests that the kernel's verifier accepts it.
#include <linux/pkt_cls.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/transport/ethernet/forward_program.h"

namespace torusmp::transport {
namespace forward_program_test {

using namespace ethernet;
using routing::Direction;
using routing::Torus;

// The action of a program on a frame.
struct Outcome {
    int verdict = 0;
    unsigned device = 0;  // of a redirection
    bool operator==(const Outcome&) const = default;
};

constexpr Outcome kept{TC_ACT_OK, 0}, dropped{TC_ACT_SHOT, 0};

class Machine {
  public:
    // `linear`: how many bytes of the frame are together before skb_pull_data().
    Machine(const std::vector<bpf_insn>& program, std::vector<std::byte>& frame, std::size_t linear)
        : program_(program), frame_(frame), linear_(linear) {}

    Outcome run() {
        reg_[1] = context;
        for (std::size_t at = 0; at < program_.size(); ++at) {
            REQUIRE(++steps_ <= program_.size());  // it only jumps forward
            const bpf_insn& it = program_[at];
            std::uint64_t& to = reg_[it.dst_reg];
            const auto value =
                BPF_SRC(it.code) == BPF_X ? reg_[it.src_reg] : std::uint64_t(std::int64_t(it.imm));
            switch (BPF_CLASS(it.code)) {
                case BPF_LDX:
                    to = load(reg_[it.src_reg] + std::uint64_t(std::int64_t(it.off)),
                              BPF_SIZE(it.code));
                    break;
                case BPF_STX:
                    REQUIRE(BPF_SIZE(it.code) == BPF_B);
                    byte_at(to + std::uint64_t(std::int64_t(it.off))) =
                        std::byte(reg_[it.src_reg] & 0xff);
                    break;
                case BPF_ALU64:
                    compute(BPF_OP(it.code), to, value);
                    break;
                case BPF_JMP:
                    if (BPF_OP(it.code) == BPF_EXIT) return {int(reg_[0]), redirected_};
                    if (BPF_OP(it.code) == BPF_CALL)
                        call(it.imm);
                    else if (holds(BPF_OP(it.code), to, value))
                        at += std::size_t(it.off);
                    break;
                default:
                    FAIL("an instruction of class " << int(BPF_CLASS(it.code)));
            }
        }
        FAIL("it runs off its end");
        return {};
    }

  private:
    static constexpr std::uint64_t context = 1 << 20, packet = 2 << 20;

    std::byte& byte_at(std::uint64_t address) {
        REQUIRE(address >= packet);
        REQUIRE(address < packet + linear_);
        return frame_[address - packet];
    }
    std::uint64_t load(std::uint64_t from, int size) {
        if (from == context + offsetof(__sk_buff, data)) return packet;
        if (from == context + offsetof(__sk_buff, data_end)) return packet + linear_;
        std::uint64_t value = 0;
        const std::size_t bytes = size == BPF_B ? 1 : 2;
        REQUIRE((size == BPF_B || size == BPF_H));
        for (std::size_t i = 0; i < bytes; ++i)
            value |= std::to_integer<std::uint64_t>(byte_at(from + i)) << (8 * i);
        return value;
    }
    static void compute(int operation, std::uint64_t& to, std::uint64_t value) {
        switch (operation) {
            case BPF_MOV:
                to = value;
                break;
            case BPF_ADD:
                to += value;
                break;
            case BPF_NEG:
                to = -to;
                break;
            default:
                FAIL("an operation " << operation);
        }
    }
    static bool holds(int condition, std::uint64_t left, std::uint64_t right) {
        const auto a = std::int64_t(left), b = std::int64_t(right);
        switch (condition) {
            case BPF_JA:
                return true;
            case BPF_JEQ:
                return left == right;
            case BPF_JNE:
                return left != right;
            case BPF_JGE:
                return left >= right;
            case BPF_JLE:
                return left <= right;
            case BPF_JSGT:
                return a > b;
            case BPF_JSGE:
                return a >= b;
            case BPF_JSLE:
                return a <= b;
            default:
                FAIL("a condition " << condition);
                return false;
        }
    }
    void call(int helper) {
        if (helper == BPF_FUNC_skb_pull_data) {
            linear_ = std::min(frame_.size(), std::max(linear_, std::size_t(reg_[2])));
            reg_[0] = 0;
        } else {
            REQUIRE(helper == BPF_FUNC_redirect);
            REQUIRE(reg_[2] == 0);
            redirected_ = unsigned(reg_[1]);
            reg_[0] = TC_ACT_REDIRECT;
        }
        // The verifier forgets them, and so does this.
        for (int i = 1; i <= 5; ++i) reg_[std::size_t(i)] = ~std::uint64_t{0};
    }

    const std::vector<bpf_insn>& program_;
    std::vector<std::byte>& frame_;
    std::size_t linear_;
    std::array<std::uint64_t, 16> reg_{};
    std::size_t steps_ = 0;
    unsigned redirected_ = 0;
};

std::vector<std::byte> frame_with(const ForwardHeader& header) {
    std::vector<std::byte> frame(forwarded_header_bytes + sizeof(FrameHeader));
    std::memcpy(frame.data() + ethernet_header_bytes, &header, sizeof header);
    return frame;
}

Outcome run(const std::vector<bpf_insn>& program, std::vector<std::byte>& frame,
            std::size_t linear = ~std::size_t{0}) {
    return Machine(program, frame, std::min(linear, frame.size())).run();
}

Outcome run(const std::vector<bpf_insn>& program, const ForwardHeader& header) {
    auto frame = frame_with(header);
    return run(program, frame);
}

unsigned number_of(int node, Direction direction) {
    return unsigned(100 * node + direction.index() + 1);
}

DeviceNumbers devices_of(const Torus& torus, int node) {
    DeviceNumbers devices{};
    for (int i = 0; i < 2 * torus.dimensions(); ++i)
        if (torus.neighbour(node, Direction::from_index(i)))
            devices[std::size_t(i)] = number_of(node, Direction::from_index(i));
    return devices;
}

const std::vector<Torus> tori{
    Torus(std::vector<int>{2}),
    Torus(std::vector<int>{6}),
    Torus(std::vector<int>{7}),
    Torus(std::vector<int>{5}, {false}),
    Torus(std::vector<int>{4, 4}),
    Torus(std::vector<int>{1, 5}),
    Torus(std::vector<int>{3, 4}, {true, false}),
    Torus(std::vector<int>{2, 3, 4}),
    Torus(std::vector<int>{2, 2, 2, 3, 2, 2}),
};

TEST_CASE("the kernel's program forwards each frame along the path of the routing") {
    for (const Torus& torus : tori)
        for (int node = 0; node < torus.size(); ++node) {
            const auto program = forward_program(torus, node, devices_of(torus, node));
            for (int target = 0; target < torus.size(); ++target) {
                INFO(torus.describe() << ", at " << node << ", for " << target);
                const auto hop = torus.next_hop(node, target);
                const Outcome expected =
                    hop ? Outcome{TC_ACT_REDIRECT, number_of(node, hop->direction)} : kept;
                CHECK(run(program, forward_header(torus.coordinates(target))) == expected);
            }
        }
}

TEST_CASE("the kernel's program counts hops, and drops frames that have none left") {
    const Torus torus(std::vector<int>{4, 4});
    const auto program = forward_program(torus, 5, devices_of(torus, 5));
    ForwardHeader header = forward_header(torus.coordinates(7));
    header.hops = 2;
    auto frame = frame_with(header);
    CHECK(run(program, frame).verdict == TC_ACT_REDIRECT);
    CHECK(run(program, frame).verdict == TC_ACT_REDIRECT);
    CHECK(run(program, frame) == dropped);
    // But it has arrived, however far it came.
    header = forward_header(torus.coordinates(5));
    header.hops = 0;
    CHECK(run(program, header) == kept);
}

TEST_CASE("the kernel's program drops invalid frames") {
    const Torus torus(std::vector<int>{4, 3}, {true, false});
    const auto program = forward_program(torus, 0, devices_of(torus, 0));
    ForwardHeader header = forward_header(torus.coordinates(7));
    SECTION("coordinates that the torus does not have") {
        header.to[1] = 3;
        CHECK(run(program, header) == dropped);
        header.to[1] = 0xffff;
        CHECK(run(program, header) == dropped);
    }
    SECTION("another version") {
        ++header.version;
        CHECK(run(program, header) == dropped);
    }
    SECTION("a link without a device") {
        auto devices = devices_of(torus, 0);
        devices.fill(0);
        CHECK(run(forward_program(torus, 0, devices), header) == dropped);
    }
    SECTION("a frame that ends before its header does") {
        auto frame = frame_with(header);
        frame.resize(forwarded_header_bytes - 1);
        CHECK(run(program, frame) == dropped);
    }
}

TEST_CASE("the kernel's program joins the parts of a frame") {
    const Torus torus(std::vector<int>{4});
    const auto program = forward_program(torus, 0, devices_of(torus, 0));
    auto frame = frame_with(forward_header(torus.coordinates(1)));
    CHECK(run(program, frame, ethernet_header_bytes) ==
          Outcome{TC_ACT_REDIRECT, number_of(0, {0, +1})});
}

TEST_CASE("names of programs differ for different plans, nodes and devices") {
    const Torus ring(std::vector<int>{4}), line(std::vector<int>{4}, {false});
    CHECK(plan_name(ring, 1) != plan_name(line, 1));
    CHECK(plan_name(ring, 1) != plan_name(ring, 2));
    auto devices = devices_of(ring, 1);
    const auto name = program_name(ring, 1, forward_program(ring, 1, devices));
    CHECK(name.starts_with(plan_name(ring, 1)));
    CHECK(name == program_name(ring, 1, forward_program(ring, 1, devices)));
    ++devices[0];
    CHECK(name != program_name(ring, 1, forward_program(ring, 1, devices)));
}

}  // namespace forward_program_test
}  // namespace torusmp::transport
