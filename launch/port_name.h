// SPDX-License-Identifier: BSD-3-Clause
// The name that MPI_Open_port returns: "torusmp-port:PLACE:SECRET", then ":HOST" if the job's hosts
// have names. The place is not secret: the kernel lists it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace torusmp::launch {

struct PortName {
    std::string socket;  // "torusmp-port:PLACE", the name of a meeting socket
    std::string secret;
    std::string host;  // as the geometry of the job that has opened the port names it; or empty

    static PortName random(std::string host);
    // Nothing if no port can have this name.
    static std::optional<PortName> read(std::string_view name);
    std::string text() const;
};

bool is_port_socket(std::string_view socket);

}  // namespace torusmp::launch
