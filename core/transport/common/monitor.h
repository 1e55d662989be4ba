// SPDX-License-Identifier: BSD-3-Clause
// Reports network devices that go down, lose their carrier or disappear, and those that return
// (rtnetlink(7)).
//
// Owned by the Interface and used under the Runtime's lock.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace torusmp::transport {

class Monitor {
  public:
    // Without netlink nothing is reported and descriptor() is -1; a dead link is then detected by
    // its silence.
    Monitor();

    int descriptor() const { return socket_.get(); }
    // Calls gone(index of the device, reason) for each device that can no longer be used. Returns
    // true if some device that may have been unusable can now be used.
    bool read(const std::function<void(unsigned, std::string_view)>& gone);

  private:
    base::Descriptor socket_;
};

// Why nothing can be sent by a device now, such as "is down"; empty if it can.
std::string_view trouble_of_device(const std::string& device);

}  // namespace torusmp::transport
