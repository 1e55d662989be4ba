// SPDX-License-Identifier: BSD-3-Clause
// torus-ethernet: opens packet sockets for ranks that may not, and passes them on. The library
// starts it with a socket as standard input; its file has the capability CAP_NET_RAW.
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/transport/ethernet/opening.h"

namespace {

constexpr const char* help =
    "Usage: torus-ethernet DEVICE...\n"
    "Opens a socket for Ethernet frames on each device and passes them to the process that "
    "started\n"
    "it, over the socket that is its standard input. The library of torusmp calls it where the "
    "user\n"
    "may not open such sockets. It needs a capability, which the owner of the host gives it once:\n"
    "  setcap cap_net_raw=ep torus-ethernet\n"
    "A socket sees nothing but frames of torusmp that are addressed to it. Whoever may start this\n"
    "program can send any frame on the devices of the host: where not all users shall, give the\n"
    "file to a group and take it from others (chgrp, chmod o-x, and then setcap).\n"
    "\n"
    "  --help       says this\n"
    "  --version    says which version it is\n"
    "\n"
    "Exit code: 0 all were passed, 1 some could not be opened, 2 it was called by hand.\n";

bool is_socket(int descriptor) {
    int type = 0;
    socklen_t length = sizeof type;
    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
           type == SOCK_SEQPACKET;
}

}  // namespace

int main(int count, char** words) {
    const std::vector<std::string> devices(words + (count > 0 ? 1 : 0), words + count);
    if (devices.size() == 1 && devices[0] == "--help") return std::fputs(help, stdout) < 0;
    if (devices.size() == 1 && devices[0] == "--version")
        return std::puts("torus-ethernet (torusmp) " TORUSMP_VERSION) < 0;
    if (devices.empty() || !is_socket(0)) {
        std::fputs("torus-ethernet: the library starts this itself; see torus-ethernet --help\n",
                   stderr);
        return 2;
    }
    return torusmp::transport::ethernet::pass_frame_sockets(devices, 0);
}
