// SPDX-License-Identifier: BSD-3-Clause
// Measures the load of other programs on this host while the ranks measure.
//
// Collective: all ranks construct one and query it, in the same order.
#pragma once

#include <string>

namespace torusmp::bench {

class Beside {
  public:
    Beside();
    // Processors used by other programs since the construction: 0.5 is half of one. 0 also if the
    // kernel does not report it, or ranks on several hosts use more than this host has.
    double processors() const;

  private:
    double start_, machine_, own_;  // seconds
};

// A note for a table; empty if the host was quiet.
std::string beside_note(double processors);

}  // namespace torusmp::bench
