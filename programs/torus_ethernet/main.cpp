// SPDX-License-Identifier: BSD-3-Clause
// torus-ethernet: opens packet sockets for unprivileged ranks, and passes them on. The library
// starts it with a socket as standard input; the executable has the capability CAP_NET_RAW.
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/transport/ethernet/opening.h"

namespace {

constexpr const char* help =
    "Usage: torus-ethernet DEVICE...\nOpens a socket for Ethernet frames on each device and "
    "passes the sockets to the process that\nstarted it, over its standard input. The library of "
    "torusmp starts it if the user may not open\nsuch sockets. A socket receives only frames of "
    "torusmp that are addressed to it, but a user of\nthis program can send any frame on the "
    "devices of the host. Therefore only members of a group\nmay run it. Root sets the group and "
    "the required capability once:\n"
    "  groupadd -r torusmp; chgrp torusmp torus-ethernet; chmod 0750 torus-ethernet\n"
    "  setcap cap_net_raw=ep torus-ethernet\n"
    "Debian's package does this; \"adduser USER torusmp\" adds a user to the group.\n\n  --help   "
    "    print this help and exit\n  --version    print the version and exit\n\nExit code: 0 all "
    "sockets were passed, 1 some could not be opened, 2 it was started by hand.\n";

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
        std::fputs(
            "torus-ethernet: only the library of torusmp can use this program; see "
            "torus-ethernet --help\n",
            stderr);
        return 2;
    }
    return torusmp::transport::ethernet::pass_frame_sockets(devices, 0);
}
