// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/operations.h"

#include <array>

#include "collectives/allgather/allgather.h"
#include "collectives/allreduce/allreduce.h"
#include "collectives/alltoall/alltoall.h"
#include "collectives/broadcast/broadcast.h"
#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce_scatter/reduce_scatter.h"
#include "collectives/scan/scan.h"
#include "collectives/scatter/scatter.h"

namespace torusmp::collectives {

std::span<const AlgorithmTable* const> operations() {
    static const std::array<const AlgorithmTable*, 9> all{
        &broadcast::algorithms(),      &reduce::algorithms(),   &allreduce::algorithms(),
        &scatter::algorithms(),        &gather::algorithms(),   &allgather::algorithms(),
        &reduce_scatter::algorithms(), &alltoall::algorithms(), &scan::algorithms()};
    return all;
}

}  // namespace torusmp::collectives
