// SPDX-License-Identifier: BSD-3-Clause
// Opens a rank's packet sockets, for which the kernel requires CAP_NET_RAW. A process with that
// capability opens them itself; for others the program torus-ethernet, to which the system gives
// the capability, opens them and passes them on.
//
// A socket from this code is bound to one device, or to all of them for forwarded frames, and to
// our frame type. It has a locked filter that admits only frames of its own session: a rank does
// not see frames for another process, and cannot remove the filter.
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
    std::uint32_t session = 0;  // the session that its filter admits
    std::string trouble;        // why the socket could not be opened
};

// Stands for a device name if a socket is to be opened for forwarded frames (forward_program.h),
// which may arrive and leave by any device.
inline constexpr const char* every_device = "*";

// Opens it in this process, which needs CAP_NET_RAW.
FrameSocket open_frame_socket(const std::string& device);
// Opens a socket for each device, in this process if it may, otherwise through the helper.
std::vector<FrameSocket> frame_sockets(const std::vector<std::string>& devices);
// Called in the helper: opens a socket for each device and sends it over the Unix socket `to`.
// Returns the exit code of the program.
int pass_frame_sockets(const std::vector<std::string>& devices, int to);

enum class Way { self, helper, none };
// How processes of this user would get a socket on this host.
Way way_to_open();
// The path of the helper: where it was installed with the library, else in PATH; empty if not
// found.
std::string find_helper();
// The same, or the path where it should be.
std::string helper_file();

// The Ethernet address and the MTU of a device; throws std::runtime_error if it has none.
struct DeviceFacts {
    Mac mac;
    std::uint32_t mtu;
};
DeviceFacts device_facts(const std::string& device);

}  // namespace torusmp::transport::ethernet
