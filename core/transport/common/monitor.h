// Tells when a network device goes down, loses its carrier or disappears (rtnetlink(7)).
//
// Owned by the Interface and used under the Runtime's lock.
#pragma once

#include <functional>
#include <string_view>

#include "base/descriptor.h"

namespace torusmp::transport {

class Monitor {
  public:
    // Without netlink there is no news and descriptor() is -1: dead links then show as silence.
    Monitor();

    int descriptor() const { return socket_.get(); }
    // Calls tell(index of the device, what happened) for each device that is not usable any more.
    void read(const std::function<void(unsigned, std::string_view)>& tell);

  private:
    base::Descriptor socket_;
};

}  // namespace torusmp::transport
