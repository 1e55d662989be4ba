// SPDX-License-Identifier: BSD-3-Clause
// The topology functions of the C API.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "qmp/communicator.h"

namespace torusmp::qmp {

const Topology& topology_of(QMP_comm_t comm, std::string_view call) {
    const QMP_comm_struct& checked_comm = checked(comm, call);
    if (!checked_comm.topology)
        fail(call,
             "the communicator has no logical topology: declare one first, with "
             "QMP_declare_logical_topology");
    return *checked_comm.topology;
}

namespace {

int number_of_dimensions(QMP_comm_t comm, const char* call) {
    const auto& topology = checked(comm, call).topology;
    return topology ? topology->dimensions() : 0;
}

const int* dimensions(QMP_comm_t comm, const char* call) {
    const auto& topology = checked(comm, call).topology;
    return topology ? topology->dims().data() : nullptr;
}

bool known(QMP_comm_t comm, int node, const char* call) {
    if (node >= 0 && node < comm->group.size()) return true;
    complain(QMP_NODE_OUTRANGE, call,
             fmt::format("found node {}, expected 0 to {}", node, comm->group.size() - 1));
    return false;
}

int* coordinates_from(QMP_comm_t comm, int node, const char* call) {
    const Topology& topology = topology_of(comm, call);
    if (!known(comm, node, call)) return nullptr;
    // The caller releases it with free().
    auto* result = static_cast<int*>(std::malloc(sizeof(int) * std::size_t(topology.dimensions())));
    if (result == nullptr) throw std::bad_alloc();
    topology.coordinates_of(node, result);
    return result;
}

void coordinates_from2(QMP_comm_t comm, int* coordinates, int node, const char* call) {
    const Topology& topology = topology_of(comm, call);
    if (coordinates == nullptr) fail(call, "found a null pointer");
    if (known(comm, node, call))
        topology.coordinates_of(node, coordinates);
    else
        std::fill_n(coordinates, topology.dimensions(), -1);
}

int node_from(QMP_comm_t comm, const int* coordinates, const char* call) {
    const Topology& topology = topology_of(comm, call);
    if (coordinates == nullptr) fail(call, "found a null pointer");
    if (topology.inside(coordinates)) return topology.node_of(coordinates);
    const std::vector<int> found(coordinates, coordinates + topology.dimensions());
    complain(QMP_NODE_OUTRANGE, call,
             fmt::format("found coordinates {}, expected them inside {}", fmt::join(found, " "),
                         fmt::join(topology.dims(), " ")));
    return -1;
}

QMP_status_t declare_with_flag(QMP_comm_struct& comm, const int* dims, int ndim, const char* call) {
    const auto& map = library().flags.logical_map;
    if (ndim > 0 && !map.empty() && int(map.size()) != ndim)
        fail(call, fmt::format("-qmp-logic-map has {} entries, expected {}, one for each dimension",
                               map.size(), ndim));
    return declare(comm, dims, ndim, map.empty() ? nullptr : map.data(), int(map.size()), call);
}

}  // namespace
}  // namespace torusmp::qmp

using namespace torusmp::qmp;

extern "C" {

QMP_status_t QMP_comm_declare_logical_topology_map(QMP_comm_t comm, const int dims[], int ndim,
                                                   const int map[], int mapdim) {
    const char* const call = __func__;
    return guarded(call,
                   [&] { return declare(checked(comm, call), dims, ndim, map, mapdim, call); });
}
QMP_status_t QMP_declare_logical_topology_map(const int dims[], int ndim, const int map[],
                                              int mapdim) {
    const char* const call = __func__;
    return guarded(call,
                   [&] { return declare(default_comm(call), dims, ndim, map, mapdim, call); });
}
QMP_status_t QMP_comm_declare_logical_topology(QMP_comm_t comm, const int dims[], int ndim) {
    const char* const call = __func__;
    return guarded(call,
                   [&] { return declare(checked(comm, call), dims, ndim, nullptr, 0, call); });
}
QMP_status_t QMP_declare_logical_topology(const int dims[], int ndim) {
    const char* const call = __func__;
    return guarded(call, [&] { return declare_with_flag(default_comm(call), dims, ndim, call); });
}

QMP_bool_t QMP_comm_logical_topology_is_declared(QMP_comm_t comm) {
    return checked(comm, __func__).topology ? QMP_TRUE : QMP_FALSE;
}
QMP_bool_t QMP_logical_topology_is_declared(void) {
    return default_comm(__func__).topology ? QMP_TRUE : QMP_FALSE;
}

int QMP_comm_get_logical_number_of_dimensions(QMP_comm_t comm) {
    return number_of_dimensions(comm, __func__);
}
int QMP_get_logical_number_of_dimensions(void) {
    return number_of_dimensions(&default_comm(__func__), __func__);
}
const int* QMP_comm_get_logical_dimensions(QMP_comm_t comm) {
    return dimensions(comm, __func__);
}
const int* QMP_get_logical_dimensions(void) {
    return dimensions(&default_comm(__func__), __func__);
}

const int* QMP_comm_get_logical_coordinates(QMP_comm_t comm) {
    return topology_of(comm, __func__).coordinates().data();
}
const int* QMP_get_logical_coordinates(void) {
    return topology_of(&default_comm(__func__), __func__).coordinates().data();
}

int* QMP_comm_get_logical_coordinates_from(QMP_comm_t comm, int node) {
    const char* const call = __func__;
    return guarded(call, [&] { return coordinates_from(comm, node, call); });
}
int* QMP_get_logical_coordinates_from(int node) {
    const char* const call = __func__;
    return guarded(call, [&] { return coordinates_from(&default_comm(call), node, call); });
}
void QMP_comm_get_logical_coordinates_from2(QMP_comm_t comm, int coords[], int node) {
    const char* const call = __func__;
    guarded(call, [&] { coordinates_from2(comm, coords, node, call); });
}
void QMP_get_logical_coordinates_from2(int coords[], int node) {
    const char* const call = __func__;
    guarded(call, [&] { coordinates_from2(&default_comm(call), coords, node, call); });
}
int QMP_comm_get_node_number_from(QMP_comm_t comm, const int coordinates[]) {
    const char* const call = __func__;
    return guarded(call, [&] { return node_from(comm, coordinates, call); });
}
int QMP_get_node_number_from(const int coordinates[]) {
    const char* const call = __func__;
    return guarded(call, [&] { return node_from(&default_comm(call), coordinates, call); });
}

int QMP_get_allocated_number_of_dimensions(void) {
    return number_of_dimensions(running(__func__).allocated, __func__);
}
const int* QMP_get_allocated_dimensions(void) {
    return dimensions(running(__func__).allocated, __func__);
}
const int* QMP_get_allocated_coordinates(void) {
    const auto& topology = running(__func__).allocated->topology;
    return topology ? topology->coordinates().data() : nullptr;
}
int QMP_get_number_of_job_geometry_dimensions(void) {
    return number_of_dimensions(running(__func__).job, __func__);
}
const int* QMP_get_job_geometry(void) {
    return dimensions(running(__func__).job, __func__);
}
}
