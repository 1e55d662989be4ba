// SPDX-License-Identifier: BSD-3-Clause
// How a rank gets its packet sockets: the kernel lets nobody open one without CAP_NET_RAW. Whoever
// has it opens them itself; for others the program torus-ethernet does, to which the system gives
// that capability, and passes them on.
//
// A socket that leaves this code is bound to a device, or to all of them for forwarded frames, and
// to the type of our frames, and has a filter, locked, that lets in only frames with its own
// session: no rank sees what is meant for another process, and it cannot take the filter off.
//
// Any thread may call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "core/transport/ethernet/frame.h"

namespace torusmp::transport::ethernet {

struct FrameSocket {
    base::Descriptor socket;
    std::uint32_t session = 0;  // what its filter lets in
    std::string trouble;        // why there is no socket
};

// In the place of a device: a socket for forwarded frames (forward_program.h), which may come from
// any device and leave by any.
inline constexpr const char* every_device = "*";

// By this process, which needs CAP_NET_RAW.
FrameSocket open_frame_socket(const std::string& device);
// For each device, by this process if it may, else by the helper.
std::vector<FrameSocket> frame_sockets(const std::vector<std::string>& devices);
// The helper's part: opens a socket for each device and sends it over the Unix socket `to`. Returns
// the exit code of the program.
int pass_frame_sockets(const std::vector<std::string>& devices, int to);

enum class Way { self, helper, none };
// How processes of this user would get a socket on this host.
Way way_to_open();
// The helper: where it was installed with the library, else by PATH; empty: nowhere.
std::string find_helper();
// The same, or where it should be.
std::string helper_file();

// The Ethernet address and the MTU of a device; throws std::runtime_error if it has none.
struct DeviceFacts {
    Mac mac;
    std::uint32_t mtu;
};
DeviceFacts device_facts(const std::string& device);

}  // namespace torusmp::transport::ethernet
