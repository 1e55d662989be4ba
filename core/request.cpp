// SPDX-License-Identifier: BSD-3-Clause
#include "core/request.h"

namespace torusmp::core {

std::string_view describe(Error error) {
    switch (error) {
        case Error::none:
            return "no error";
        case Error::truncated:
            return "the message is longer than the receive";
        case Error::cancelled:
            return "cancelled";
        case Error::unreachable:
            return "the peer cannot be reached";
        case Error::protocol:
            return "the peer broke the protocol";
        case Error::pending:
            return "a rank whose message it may wait for is dead";
        case Error::revoked:
            return "the communicator is revoked";
        case Error::mismatch:
            return "the members called different collectives";
    }
    return "unknown error";
}

}  // namespace torusmp::core
