// What is verbs' own: registration of memory and its end, copies where it is refused, packets sent
// on from the slot in which they came, and what is said when devices, peers and settings are wrong.
// Runs where there are RDMA devices (verbs_pair.h).
#include <catch2/catch.hpp>

#include "recorder.h"
#include "verbs_pair.h"

using namespace torusmp::transport;
using namespace torusmp::transport::testing;
