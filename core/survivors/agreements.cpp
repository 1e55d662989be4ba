// SPDX-License-Identifier: BSD-3-Clause
#include "core/survivors/agreements.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace torusmp::core {
namespace {

// The fixed part of a packet. The words of three sets follow it: the ballot's dead members, and the
// failed and the acknowledged members of the value.
struct AgreementBody {
    std::uint32_t number;
    std::uint32_t wave;
    std::uint32_t members;
    std::uint32_t bound;
    Ballot ballot;
    Ballot consented;
    std::uint32_t flags;
    std::uint32_t least;
    std::uint32_t board;
    std::uint32_t unused;
};
static_assert(sizeof(AgreementBody) == 48);

// The packet of Wave::board.
struct BoardBody {
    std::uint32_t number;  // 0
    std::uint32_t wave;
    SharedMemory::Name name;
};
static_assert(sizeof(BoardBody) == 8 + sizeof(SharedMemory::Name));

// A board is made after so many agreements of a group: most groups have one or two.
constexpr std::uint32_t agreements_without_board = 2;

void put(std::vector<std::byte>& bytes, const MemberSet& set, std::size_t words) {
    const std::size_t at = bytes.size();
    bytes.resize(at + words * sizeof(std::uint32_t));  // zeros for a set without a size
    if (!set.words().empty())
        std::memcpy(bytes.data() + at, set.words().data(), words * sizeof(std::uint32_t));
}

std::vector<std::byte> encode(std::uint32_t number, const AgreementPacket& packet) {
    const int members = packet.dead.members();
    const std::size_t words = MemberSet::words_for(members);
    const AgreementBody body{number,
                             std::uint32_t(packet.wave),
                             std::uint32_t(members),
                             packet.bound,
                             packet.ballot,
                             packet.consented,
                             packet.value.flags,
                             packet.value.least,
                             packet.value.board,
                             0};
    std::vector<std::byte> bytes;
    bytes.reserve(sizeof body + 3 * words * sizeof(std::uint32_t));
    bytes.resize(sizeof body);
    std::memcpy(bytes.data(), &body, sizeof body);
    put(bytes, packet.dead, words);
    put(bytes, packet.value.failed, words);
    put(bytes, packet.value.acknowledged, words);
    return bytes;
}

// Reads a set; returns false if it names a member that the group does not have.
bool get(const std::byte*& from, MemberSet& set) {
    const std::size_t bytes = set.words().size() * sizeof(std::uint32_t);
    std::memcpy(set.words().data(), from, bytes);
    from += bytes;
    return set.within(MemberSet(set.members(), true));
}

bool decode(transport::ConstBytes bytes, int members, std::uint32_t& number,
            AgreementPacket& packet) {
    AgreementBody body;
    const std::size_t words = MemberSet::words_for(members);
    if (bytes.size() != sizeof body + 3 * words * sizeof(std::uint32_t)) return false;
    std::memcpy(&body, bytes.data(), sizeof body);
    if (body.members != std::uint32_t(members) || body.wave > std::uint32_t(Wave::last) ||
        body.bound > 1 || body.ballot.leader >= std::uint32_t(members))
        return false;
    number = body.number;
    packet.wave = Wave(body.wave);
    packet.bound = body.bound != 0;
    packet.ballot = body.ballot;
    packet.consented = body.consented;
    packet.value.flags = body.flags;
    packet.value.least = body.least;
    packet.value.board = body.board;
    const std::byte* from = bytes.data() + sizeof body;
    for (MemberSet* set : {&packet.dead, &packet.value.failed, &packet.value.acknowledged}) {
        *set = MemberSet(members);
        if (!get(from, *set)) return false;
    }
    return true;
}

}  // namespace

void Agreement::report(Waits& waits) const {
    waits.add(Waits::Collective{
        .name = "an agreement", .context = context_, .id = static_cast<const Task*>(this)});
}

int Agreements::Record::place_of(Rank rank) const {
    const auto found = std::find(members.begin(), members.end(), rank);
    return found == members.end() ? -1 : int(found - members.begin());
}

void Agreements::open(Record& record, const std::vector<Rank>& members) {
    const int count = int(members.size());
    record.members = members;
    record.place = record.place_of(commons_.rank());
    TORUSMP_ASSERT(record.place >= 0, commons_.rank(), count);
    record.dead = record.agreed = MemberSet(count);
    for (int place = 0; place < count; ++place) {
        const Peer& peer = connections_.peer(members[std::size_t(place)]);
        if (peer.dead && !connections_.may_live(peer)) record.dead.add(place);
    }
}

// Whether a member is lost, and may be dead or cut off.
bool Agreements::doubts(const Record& record) const {
    return std::any_of(record.members.begin(), record.members.end(),
                       [&](Rank rank) { return connections_.may_live(connections_.peer(rank)); });
}

void Agreements::begin(Agreement& agreement, Context context, const std::vector<Rank>& members) {
    const Progress::Guard guard(progress_);
    const Step step(*this);
    TORUSMP_ASSERT(agreement.complete(), commons_.rank(), context);
    agreement.complete_.store(false, std::memory_order_relaxed);
    agreement.context_ = context;
    Record& record = records_[context];
    const bool is_new = record.members.empty();
    if (is_new) open(record, members);
    agreement.parted_.reset();
    record.queue.push_back(&agreement);
    if (is_new) {
        for (const Early& early : std::exchange(record.early, {}))
            take(context, record, early.source, early.bytes);
        for (const Rank rank : members)
            if (connections_.peer(rank).cut_off) part(context, record, {commons_.rank(), rank});
    }
    begin_next(context, record);
}

void Agreements::abstain(Context context, const std::vector<Rank>& members) {
    const Progress::Guard guard(progress_);
    abstained_.remove_if([](const Agreement& agreement) { return agreement.complete(); });
    Agreement& agreement = abstained_.emplace_back();
    agreement.flags = 0;
    begin(agreement, context, members);
}

void Agreements::end(Agreement& agreement) {
    commons_.stirred = true;
    agreement.complete_.store(true, std::memory_order_release);
}

void Agreements::part(Context context, Record& record, std::pair<Rank, Rank> parted) {
    if (record.parted) return;
    record.parted = parted;
    record.rounds.clear();
    record.early.clear();
    record.contributed = false;
    std::erase(open_, context);
    AgreementPacket news;
    news.wave = Wave::parted;
    news.dead = MemberSet(int(record.members.size()));
    news.value.flags = std::uint32_t(parted.first);
    news.value.least = std::uint32_t(parted.second);
    for (int place = 0; place < int(record.members.size()); ++place)
        if (place != record.place) send(context, record, 0, place, news);
    begin_next(context, record);
}

// The oldest agreement of the queue contributes to the round after the last decided one.
void Agreements::begin_next(Context context, Record& record) {
    while (record.parted && !record.queue.empty()) {
        Agreement& agreement = *record.queue.front();
        record.queue.pop_front();
        agreement.parted_ = record.parted;
        end(agreement);
    }
    while (!record.queue.empty() && !doubts(record)) {
        if (record.board != nullptr) {
            if (record.contributed) return;
            contribute(context, record);
            if (!look_at_board(context, record)) return;
            continue;
        }
        const std::uint32_t number = record.decided + 1;
        AgreementRound& round = round_of(record, number);
        if (round.takes_part()) return;
        round.take_part(record.own_value(), record.dead, sender_for(context, record, number));
        follow_decision(context, record);
    }
}

// The contribution of the oldest agreement of the queue.
AgreedValue Agreements::Record::own_value() const {
    const Agreement& own = *queue.front();
    AgreedValue value{own.flags, own.least, dead, MemberSet(int(members.size()))};
    for (const Rank rank : own.acknowledged)
        if (const int at = place_of(rank); at >= 0) value.acknowledged.add(at);
    value.board = newest_board();
    return value;
}

// A maker is higher than those before it, which are dead, so its board is the one that all may get.
std::uint32_t Agreements::Record::newest_board() const {
    return !boards.empty() && boards.back()->entries ? std::uint32_t(boards.back()->maker)
                                                     : AgreedValue::no_board;
}

// ---- boards ----

// The lowest living member makes one, where all living members share its host.
void Agreements::make_board(Context context, Record& record) {
    const bool tried = !record.boards.empty() && record.boards.back()->maker == record.place;
    if (record.decided < agreements_without_board || tried || !shared_.possible() ||
        record.agreed.first_missing() != record.place)
        return;
    const auto& here = commons_.options.direct;
    std::vector<int> others;
    for (int place = 0; place < int(record.members.size()); ++place) {
        const Rank rank = record.members[std::size_t(place)];
        if (place == record.place || record.agreed.has(place)) continue;
        if (std::find(here.begin(), here.end(), rank) == here.end()) return;
        others.push_back(place);
    }
    Board& board = *record.boards.emplace_back(std::make_unique<Board>(shared_, record.place));
    const int members = int(record.members.size());
    if (others.empty() ||
        !shared_.make(board.block, AgreementBoard::bytes(members), int(others.size())))
        return;
    AgreementBoard::prepare(board.block.memory(), members);
    board.entries.emplace(board.block.memory(), members, record.place, shared_.must_fence());
    for (const int place : others) {
        Peer& peer = connections_.peer(record.members[std::size_t(place)]);
        if (peer.dead) continue;
        const BoardBody body{0, std::uint32_t(Wave::board),
                             shared_.name_for(board.block, peer.rank)};
        sender_.send(peer, PacketKind::agreement, body, context);
    }
}

// After the decision that all have a board the next rounds are decided there.
void Agreements::use_board(Context context, Record& record, std::uint32_t maker) {
    for (std::unique_ptr<Board>& board : record.boards)
        if (std::uint32_t(board->maker) == maker && board->entries) record.board = std::move(board);
    if (record.board == nullptr) return make_board(context, record);
    record.boards.clear();
}

// The one before is kept: its maker is dead, but all others may have it.
bool Agreements::take_board(Record& record, int place, transport::ConstBytes bytes) {
    if (bytes.size() != sizeof(BoardBody) || place == record.place) return false;
    if (record.board != nullptr || (!record.boards.empty() && record.boards.back()->maker >= place))
        return true;  // late news of a member that is dead
    BoardBody body;
    std::memcpy(&body, bytes.data(), sizeof body);
    const int members = int(record.members.size());
    Board& board = *record.boards.emplace_back(std::make_unique<Board>(shared_, place));
    if (!shared_.map(board.block, record.members[std::size_t(place)], body.name)) return true;
    if (body.name.length < SharedMemory::header_bytes + AgreementBoard::bytes(members))
        return false;
    board.entries.emplace(board.block.memory(), members, record.place, shared_.must_fence());
    return true;
}

void Agreements::contribute(Context context, Record& record) {
    if (!record.board->block.usable()) return;
    record.board->entries->contribute(record.decided + 1, record.own_value());
    record.contributed = true;
    open_.push_back(context);
    // A thread may sleep that looks at the other boards: it must be seen to sleep here, too.
    if (listed_) progress_.recheck();
}

// Returns true if the round is decided; otherwise the task looks again.
bool Agreements::look_at_board(Context context, Record& record) {
    Board& board = *record.board;
    if (!board.block.usable()) return false;
    const std::uint32_t round = record.decided + 1;
    bool first = false;
    if (!board.entries->decide(round, record.dead, first)) {
        if (!std::exchange(listed_, true)) progress_.add_task(looks_);
        return !record.contributed;
    }
    if (first)
        board.entries->for_sleepers([&](int place) {
            if (place != record.place) shared_.wake(record.members[std::size_t(place)]);
        });
    if (std::exchange(board.asleep, false)) board.entries->set_asleep(false);
    record.contributed = false;
    std::erase(open_, context);
    record.rounds.clear();  // all living members have decided those
    conclude(context, record, board.entries->decision(round));
    return true;
}

bool Agreements::look_at_boards() {
    const Step step(*this);
    turn_ = open_;
    for (const Context context : turn_) {
        Record& record = records_.at(context);
        if (record.contributed && look_at_board(context, record)) begin_next(context, record);
    }
    listed_ = !open_.empty();
    return !listed_;
}

void Agreements::set_asleep(bool asleep) {
    for (const Context context : open_) {
        Board& board = *records_.at(context).board;
        if (!board.block.usable() || std::exchange(board.asleep, asleep) == asleep) continue;
        board.entries->set_asleep(asleep);
    }
}

// ---- packets ----

AgreementRound& Agreements::round_of(Record& record, std::uint32_t number) {
    auto& round = record.rounds[number];
    if (round == nullptr) round = std::make_unique<AgreementRound>(record.place, record.agreed);
    return *round;
}

AgreementRound::Send Agreements::sender_for(Context context, const Record& record,
                                            std::uint32_t number) {
    return [this, context, &record, number](int place, const AgreementPacket& packet) {
        send(context, record, number, place, packet);
    };
}

void Agreements::send(Context context, const Record& record, std::uint32_t number, int place,
                      const AgreementPacket& packet) {
    Peer& peer = connections_.peer(record.members[std::size_t(place)]);
    if (peer.dead) return;
    sender_.send_bytes(connections_.to(peer), peer, PacketKind::agreement, encode(number, packet),
                       context, 0);
}

bool Agreements::on_agreement(Peer& peer, const transport::PacketHeader& header,
                              const std::byte* payload) {
    if (header.length < sizeof(AgreementBody)) return false;
    const Step step(*this);
    commons_.stirred = true;
    Record& record = records_[header.context];
    const transport::ConstBytes bytes{payload, header.length};
    if (!record.members.empty()) return take(header.context, record, peer.rank, bytes);
    // Each member sends a few packets before it needs an answer of this one.
    if (record.early.size() >= 64 + 8 * std::size_t(connections_.size())) return false;
    record.early.push_back({peer.rank, {bytes.begin(), bytes.end()}});
    return true;
}

bool Agreements::take(Context context, Record& record, Rank source, transport::ConstBytes bytes) {
    std::uint32_t number = 0;
    AgreementPacket packet;
    const int place = record.place_of(source);
    std::uint32_t head[2];
    std::memcpy(head, bytes.data(), sizeof head);
    if (place >= 0 && head[1] == std::uint32_t(Wave::board))
        return record.parted || take_board(record, place, bytes);
    if (place < 0 || !decode(bytes, int(record.members.size()), number, packet)) return false;
    if (packet.wave == Wave::parted) {
        const Rank ranks[] = {Rank(packet.value.flags), Rank(packet.value.least)};
        for (const Rank rank : ranks)
            if (rank < 0 || rank >= connections_.size()) return false;
        part(context, record, {ranks[0], ranks[1]});
    }
    if (record.parted) return true;
    // Members contribute to a round when they have decided the one before. So this member, without
    // which none is decided, is at most one behind.
    if (number == 0 || number > record.decided + 2) return false;
    if (number < record.decided) return true;  // all living members have decided it
    if (number == record.decided + 2) {
        // The decision of the round before is on its way to this member.
        record.early.push_back({source, {bytes.begin(), bytes.end()}});
        return true;
    }
    if (!round_of(record, number).take(place, packet, sender_for(context, record, number)))
        return false;
    follow_decision(context, record);
    return true;
}

// Follows the decision of the present round: forgets the round before it, and completes its
// agreement.
void Agreements::follow_decision(Context context, Record& record) {
    const auto present = record.rounds.find(record.decided + 1);
    if (present == record.rounds.end() || !present->second->decided()) return;
    const AgreedValue value = *present->second->decided();
    record.rounds.erase(record.rounds.begin(), present);
    conclude(context, record, value);
    use_board(context, record, value.board);
    for (const Early& early : std::exchange(record.early, {}))
        take(context, record, early.source, early.bytes);
    begin_next(context, record);
}

// Completes the agreement of the present round.
void Agreements::conclude(Context context, Record& record, const AgreedValue& value) {
    ++record.decided;
    record.agreed.unite(value.failed);
    record.dead.unite(value.failed);
    TORUSMP_ASSERT(!record.queue.empty(), commons_.rank(), context, record.decided);
    Agreement& agreement = *record.queue.front();
    record.queue.pop_front();
    agreement.value_ = value;
    end(agreement);
}

// Where no deaths are reported, each loss is one.
void Agreements::peer_lost(Peer& peer, Error /*error*/) {
    if (!commons_.options.tolerates_deaths) peer_judged(peer);
}

// This may happen in the middle of a step of a round, whose packet finds a connection broken. It
// then waits for the end of the step.
void Agreements::peer_judged(Peer& peer) {
    judged_.push_back(peer.rank);
    if (steps_ == 0) const Step step(*this);
}

void Agreements::mourn() {
    while (!judged_.empty()) {
        const Rank rank = judged_.back();
        judged_.pop_back();
        const Peer& peer = connections_.peer(rank);
        for (auto& [context, record] : records_) {
            const int place = record.place_of(rank);
            if (place < 0 || record.parted) continue;
            if (peer.cut_off)
                part(context, record, {commons_.rank(), rank});
            else
                lose(context, record, place);
        }
    }
}

void Agreements::lose(Context context, Record& record, int place) {
    record.dead.add(place);
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, round] : record.rounds) numbers.push_back(number);
    for (const std::uint32_t number : numbers) {
        const auto found = record.rounds.find(number);
        if (found == record.rounds.end()) continue;
        found->second->lose(record.dead, sender_for(context, record, number));
        follow_decision(context, record);
    }
    if (record.contributed) look_at_board(context, record);
    begin_next(context, record);
}

void Agreements::close(Context context) {
    const Progress::Guard guard(progress_);
    const auto found = records_.find(context);
    if (found == records_.end()) return;
    const Record& record = found->second;
    // Nobody asks for what is decided on a board.
    if (record.members.empty() || (record.board != nullptr && record.rounds.empty())) {
        records_.erase(found);
        return;
    }
    closed_.keep(context, records_);
}

bool Agreements::abstains(const Agreement& agreement) const {
    return std::any_of(abstained_.begin(), abstained_.end(),
                       [&](const Agreement& it) { return &it == &agreement; });
}

void Agreements::report(Waits& waits) const {
    for (const auto& [context, record] : records_)
        for (const Agreement* agreement : record.queue)
            if (!abstains(*agreement)) agreement->report(waits);
}

std::size_t Agreements::kept() const {
    std::size_t sum = 0;
    for (const auto& [context, record] : records_)
        sum += 1 + record.rounds.size() + record.queue.size() + record.early.size();
    return sum;
}

}  // namespace torusmp::core
