// SPDX-License-Identifier: BSD-3-Clause
// Names of ports (MPI_Publish_name), in a folder of the user on this host. Processes of another
// network on this host, as in a container, have names of their own, since they cannot reach the
// ports of this one.
//
// A name whose port is not open any more, because its process was killed, counts as not published.
#pragma once

#include <optional>
#include <string>

namespace torusmp::launch {

// Throw std::runtime_error if the folder or a file cannot be used. publish() returns false if the
// name is published already, unpublish() if it is not.
bool publish(const std::string& service, const std::string& port);
bool unpublish(const std::string& service, const std::string& port);
std::optional<std::string> look_up(const std::string& service);

}  // namespace torusmp::launch
