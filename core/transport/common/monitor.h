// Reports network devices that go down, lose their carrier or disappear (rtnetlink(7)).
//
// Owned by the Interface and used under the Runtime's lock.
#pragma once

#include <functional>
#include <string_view>

#include "base/descriptor.h"

namespace torusmp::transport {

class Monitor {
  public:
    // Without netlink there is no news and descriptor() is -1: a dead link is then found by its
    // silence.
    Monitor();

    int descriptor() const { return socket_.get(); }
    // Calls tell(index of the device, what happened) for each device that can no longer be used.
    void read(const std::function<void(unsigned, std::string_view)>& tell);

  private:
    base::Descriptor socket_;
};

}  // namespace torusmp::transport
