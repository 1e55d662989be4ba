// SPDX-License-Identifier: BSD-3-Clause
// Like area, but piece by piece, for blocks that do not fit into the area.
#include <cstring>

#include "collectives/algorithm/in_pieces.h"
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {
namespace {

class ByPieces final : public AlgorithmOf<Arguments, InPieces> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override { begin_pieces(Kind::allgather, 1); }

  private:
    std::size_t block_of(int member) const override { return call_.in_blocks.size(member); }
    void put(std::byte* place, const Part& part) override {
        std::memcpy(place, call_.own + part.from, part.bytes);
    }
    void take_part(int from, const std::byte* place, const Part& part) override {
        std::memcpy(call_.in + call_.in_blocks.offset(from) + part.from, place, part.bytes);
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> pieces = make_algorithm<ByPieces>;

}  // namespace torusmp::collectives::allgather
