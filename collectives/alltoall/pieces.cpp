// SPDX-License-Identifier: BSD-3-Clause
// Like area, but piece by piece, for blocks that do not fit into the area together.
#include <cstring>

#include "collectives/algorithm/in_pieces.h"
#include "collectives/alltoall/alltoall.h"

namespace torusmp::collectives::alltoall {
namespace {

class ByPieces final : public AlgorithmOf<Arguments, InPieces> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_pieces(Kind::alltoall, std::size_t(size() - 1));
        if (const std::size_t own = block_of(member()); own != 0)
            std::memcpy(call_.in + call_.in_blocks.offset(member()),
                        call_.out + call_.out_blocks.offset(member()), own);
    }

  private:
    std::size_t block_of(int) const override { return call_.out_blocks.size(0); }
    void put(std::byte* place, const Part& part) override {
        for (int to = 0; to < size(); ++to)
            if (to != member())
                std::memcpy(place + column(to, member()) * part.bytes,
                            call_.out + call_.out_blocks.offset(to) + part.from, part.bytes);
    }
    void take_part(int from, const std::byte* place, const Part& part) override {
        std::memcpy(call_.in + call_.in_blocks.offset(from) + part.from,
                    place + column(member(), from) * part.bytes, part.bytes);
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> pieces = make_algorithm<ByPieces>;

}  // namespace torusmp::collectives::alltoall
