// SPDX-License-Identifier: BSD-3-Clause
// The program by which the kernel of a node forwards frames for other nodes: BPF instructions,
// generated for one node of one torus, to be attached to the ingress of its links (forwarding.h).
//
// Pure functions; any thread may call.
#pragma once

#include <linux/bpf.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/transport/ethernet/frame.h"
#include "routing/torus.h"

namespace torusmp::transport::ethernet {

// The header in front of the FrameHeader of a frame of forwarded_type. The seal does not cover it,
// because it changes on the way; a frame that is misdirected belongs to no session where it
// arrives.
struct ForwardHeader {
    std::uint8_t version;
    std::uint8_t hops;  // hops that the frame may still make
    std::uint16_t unused;
    std::array<std::uint16_t, routing::max_dimensions> to;  // coordinates of the node
};
static_assert(sizeof(ForwardHeader) == 16);

inline constexpr std::uint16_t forwarded_type = 0x88b6;  // IEEE 802's second one for experiments
inline constexpr std::uint8_t forward_version = 1;
inline constexpr std::uint8_t most_hops = 255;
inline constexpr std::size_t forwarded_header_bytes = ethernet_header_bytes + sizeof(ForwardHeader);

ForwardHeader forward_header(const routing::Coordinates& to);

// The numbers of the node's devices by direction; 0 if it has none.
using DeviceNumbers = std::array<unsigned, std::size_t(2 * routing::max_dimensions)>;

// Shortest direction first; the next hop is the same as Torus::next_hop().
std::vector<bpf_insn> forward_program(const routing::Torus& torus, int node,
                                      const DeviceNumbers& devices);

// The program's name where it is attached: "torusmp:1:4x4:3:" and a checksum of the instructions.
std::string program_name(const routing::Torus& torus, int node,
                         const std::vector<bpf_insn>& program);
// The part of the name that does not depend on device numbers, which only the host itself knows.
std::string plan_name(const routing::Torus& torus, int node);
// The prefix of our programs' names.
inline constexpr std::string_view name_begin = "torusmp:";

}  // namespace torusmp::transport::ethernet
