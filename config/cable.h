// One end of a cable between two nodes, as messages name it and as transports judge it. Plain
// values and functions; any thread may call.
#pragma once

#include <string>

#include "config/network.h"
#include "config/settings.h"
#include "routing/torus.h"

namespace torusmp::config {

struct CableEnd {
    int node = 0;
    routing::Direction direction;      // by which the cable leaves it
    const HostFacts* facts = nullptr;  // of its host; null: nobody asked it
};

std::string host_of(const Settings& settings, const CableEnd& end);
std::string device_of(const Settings& settings, const CableEnd& end);
// "enp1s0f1 of qcd011"
std::string describe_end(const Settings& settings, const CableEnd& end);
// "link 0+ of qcd010 to qcd011 (enp1s0f0 to enp1s0f1)"
std::string describe_link(const Settings& settings, const CableEnd& one, const CableEnd& other);

}  // namespace torusmp::config
