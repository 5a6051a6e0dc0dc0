// Uploads byte by byte: whatever is not exactly an honest client's upload is refused, for a reason
// that is counted.
#include "sums/protocol/upload.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "sums/protocol/open_upload.h"
#include "tests/sums/protocol/world.h"

namespace {

// Bytes that were asked of the heap while counting.
std::atomic<bool> counting = false;
std::atomic<size_t> counted_bytes = 0;

}  // namespace

// Not inlined, for the compiler would miss one half of a pair.
[[gnu::noinline]] void* operator new(size_t size) {
  if (counting) counted_bytes += size;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace partita::sums::upload_test {
namespace {

// A field of an envelope.
struct Field {
  const char* name;
  size_t offset;
  size_t size;
};
constexpr Field kFields[] = {{"magic", 0, 4},    {"mode", 4, 1},   {"study", 5, 32},
                             {"client", 37, 16}, {"epoch", 53, 8}, {"node", 61, 2},
                             {"upload", 63, 32}, {"length", 95, 4}};
constexpr size_t kBodyOffset = 99;

Bytes Replace(const Bytes& bytes, size_t offset, size_t size, const Bytes& by) {
  Bytes out(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(offset));
  out.insert(out.end(), by.begin(), by.end());
  out.insert(out.end(), bytes.begin() + static_cast<ptrdiff_t>(offset + size), bytes.end());
  return out;
}

// R25: of one field, everything that is wrong with it.
std::vector<Bytes> WrongFields(const Bytes& honest, const Field& field) {
  const auto begin = honest.begin() + static_cast<ptrdiff_t>(field.offset);
  const Bytes value(begin, begin + static_cast<ptrdiff_t>(field.size));
  std::vector<Bytes> wrong;
  const auto add = [&](const Bytes& by) {
    if (by != value) wrong.push_back(Replace(honest, field.offset, field.size, by));
  };
  add({});                                     // missing
  add(Bytes(value.begin(), value.end() - 1));  // short by one
  Bytes longer = value;
  longer.push_back(0);
  add(longer);  // long by one
  Bytes twice = value;
  twice.insert(twice.end(), value.begin(), value.end());
  add(twice);  // duplicated
  add(Bytes(field.size, 0));
  add(Bytes(field.size, 0xff));  // the largest
  add(Bytes(field.size, '0'));   // text
  for (size_t bit = 0; bit < 8 * field.size; ++bit) {
    Bytes flipped = value;
    flipped[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    add(flipped);
  }
  Bytes more = value;
  for (uint8_t& byte : more) {
    if (++byte != 0) break;
  }
  add(more);  // the number after
  return wrong;
}

class UploadTest : public ::testing::Test {
 protected:
  UploadTest() : world_(SmallContract()), splitter_(world_.contract) {}

  std::vector<Bytes> Upload(uint32_t client, uint64_t epoch = kEpoch) {
    return world_.Upload(client, std::vector<double>{1, 2, 3}, splitter_, epoch);
  }
  Verdict Judge(ByteView bytes, uint16_t node) {
    return OpenUpload(bytes, world_.Settings(node).round, world_.directories[node]).verdict;
  }

  World world_;
  Splitter splitter_;
};

TEST_F(UploadTest, HonestUploadsOpenToTheShares) {
  for (const uint32_t client : {0U, 1U}) {
    Shares shares = splitter_.MakeShares();
    splitter_.Split(std::vector<double>{1, 2, 3}, world_.random, shares);
    const std::vector<Bytes> uploads = world_.Encrypt(client, shares);
    ASSERT_EQ(uploads.size(), 3U);
    for (uint16_t node = 0; node < 3; ++node) {
      const UploadMode mode = client == 0 ? UploadMode::kRegistered : UploadMode::kSealed;
      EXPECT_EQ(uploads[node].size(), EnvelopeBytes(world_.contract, mode, node));
      const OpenedUpload opened =
          OpenUpload(uploads[node], world_.Settings(node).round, world_.directories[node]);
      ASSERT_EQ(opened.verdict, Verdict::kAccepted);
      EXPECT_EQ(opened.header.client, IdOf(client));
      EXPECT_EQ(opened.header.epoch, kEpoch);
      const ByteView expected =
          node == 0 ? shares.masked.words() : ByteView(shares.seeds[node - 1U].Expose());
      EXPECT_TRUE(std::ranges::equal(opened.content, expected));
      // R52: the encoding is the only one.
      EXPECT_EQ(EncodeEnvelope(ParseEnvelope(uploads[node])), uploads[node]);
    }
  }
}

TEST_F(UploadTest, EveryWrongFieldIsRefused) {
  for (const uint32_t client : {0U, 1U}) {
    const std::vector<Bytes> uploads = Upload(client);
    for (uint16_t node = 0; node < 2; ++node) {
      const Bytes& honest = uploads[node];
      size_t cases = 0;
      for (const Field& field : kFields) {
        for (const Bytes& wrong : WrongFields(honest, field)) {
          ++cases;
          EXPECT_NE(Judge(wrong, node), Verdict::kAccepted) << field.name;
        }
      }
      for (size_t size = 0; size < honest.size(); ++size, ++cases) {
        const Verdict verdict = Judge(ByteView(honest).first(size), node);
        EXPECT_EQ(verdict, Verdict::kMalformed) << "cut to " << size;
      }
      for (size_t at = kBodyOffset; at < honest.size(); ++at, ++cases) {
        Bytes changed = honest;
        changed[at] ^= 0x10;
        EXPECT_EQ(Judge(changed, node), Verdict::kUnauthentic) << "byte " << at;
      }
      EXPECT_GE(cases, 1000U);
      EXPECT_EQ(Judge(honest, node), Verdict::kAccepted);
    }
  }
}

TEST_F(UploadTest, TheReasonIsTheFieldsOwn) {
  const Bytes honest = Upload(0)[1];
  const auto with = [&](size_t field, const Bytes& value) {
    return Judge(Replace(honest, kFields[field].offset, kFields[field].size, value), 1);
  };
  EXPECT_EQ(with(0, {'P', 'D', 'U', '2'}), Verdict::kMalformed);
  EXPECT_EQ(with(1, {2}), Verdict::kMalformed);
  // Sealed under the name of a registered client; the body has the other mode's length first.
  EXPECT_EQ(with(1, {0}), Verdict::kMalformed);
  EXPECT_EQ(with(2, Bytes(32, 8)), Verdict::kWrongStudy);
  EXPECT_EQ(with(3, Bytes(16, 9)), Verdict::kUnknownClient);
  EXPECT_EQ(with(4, {4, 0, 0, 0, 0, 0, 0, 0}), Verdict::kReplay);
  EXPECT_EQ(with(4, {6, 0, 0, 0, 0, 0, 0, 0}), Verdict::kEarly);
  EXPECT_EQ(with(5, {2, 0}), Verdict::kWrongNode);
  EXPECT_EQ(with(5, {3, 0}), Verdict::kWrongNode);
  EXPECT_EQ(with(6, Bytes(32, 1)), Verdict::kUnauthentic);
  const ClientId other = IdOf(2);
  EXPECT_EQ(with(3, Bytes(other.begin(), other.end())), Verdict::kUnauthentic);
  Bytes trailing = honest;
  trailing.push_back(0);
  EXPECT_EQ(Judge(trailing, 1), Verdict::kMalformed);
  EXPECT_EQ(Judge(Upload(0)[2], 1), Verdict::kWrongNode);
}

// Anybody can make a sealed box; what is in it must agree with itself and with the envelope.
TEST_F(UploadTest, SealedBoxesOfOthersAreRefused) {
  const Bytes honest = Upload(1)[1];
  const Envelope envelope = ParseEnvelope(honest);
  const Bytes opened = crypto::OpenSealed(envelope.body, world_.boxes[1]).value();
  const SealedContent inside = ParseSealedContent(opened, world_.contract, 1);
  const auto judge = [&](const SealedContent& content) {
    const Bytes body = crypto::Seal(EncodeSealedContent(content), world_.node_keys[1]);
    return Judge(EncodeEnvelope({UploadMode::kSealed, envelope.header, body}), 1);
  };
  EXPECT_EQ(judge(inside), Verdict::kAccepted);
  const auto changed = [&](const std::function<void(SealedContent&)>& change) {
    SealedContent content = inside;
    change(content);
    return judge(content);
  };
  using Change = std::function<void(SealedContent&)>;
  const std::vector<Change> changes = {
      [](SealedContent& c) { c.header.study[0] ^= 1; },
      [](SealedContent& c) { c.header.client[0] ^= 1; },
      [](SealedContent& c) { ++c.header.epoch; },
      [](SealedContent& c) { c.header.node = 2; },
      [](SealedContent& c) { c.header.upload[31] ^= 1; },
      [](SealedContent& c) { c.commitments[0][0] ^= 1; },
      [](SealedContent& c) { c.commitments[1][0] ^= 1; },
      [](SealedContent& c) { c.commitments[2][31] ^= 1; },
      [](SealedContent& c) { c.opening[0] ^= 1; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ(changed(changes[i]), Verdict::kUnauthentic) << i;
  }
  // A seed of the attacker's own making under the id of the client's upload.
  const Bytes own_seed(32, 1);
  EXPECT_EQ(changed([&](SealedContent& c) { c.content = own_seed; }), Verdict::kUnauthentic);
  EXPECT_EQ(changed([&](SealedContent& c) {
              c.content = own_seed;
              c.commitments[1] = Commit(c.opening, own_seed);
            }),
            Verdict::kUnauthentic);
  // Of another length: the body's length says so.
  EXPECT_EQ(changed([](SealedContent& c) { c.commitments.pop_back(); }), Verdict::kMalformed);
  EXPECT_EQ(changed([](SealedContent& c) { c.content = c.content.first(31); }),
            Verdict::kMalformed);
  // An unregistered client's box for a registered one, and the other way round.
  SealedContent downgrade = inside;
  downgrade.header.client = IdOf(0);
  UploadHeader header = envelope.header;
  header.client = IdOf(0);
  const Bytes body = crypto::Seal(EncodeSealedContent(downgrade), world_.node_keys[1]);
  EXPECT_EQ(Judge(EncodeEnvelope({UploadMode::kSealed, header, body}), 1), Verdict::kUnauthentic);
  const Bytes random_body(BodyBytes(world_.contract, UploadMode::kRegistered, 1));
  EXPECT_EQ(Judge(EncodeEnvelope({UploadMode::kRegistered, envelope.header, random_body}), 1),
            Verdict::kUnauthentic);
}

// R26: what is too long is not looked at, and a length that lies allocates nothing.
TEST_F(UploadTest, OversizeAllocatesNothing) {
  const NodeRound round = world_.Settings(1).round;
  const Bytes huge(size_t{64} << 20, 'P');
  Bytes lying = Upload(0)[1];
  for (size_t i = 0; i < 4; ++i) lying[95 + i] = 0xff;
  counted_bytes = 0;
  counting = true;
  const Verdict oversized = OpenUpload(huge, round, world_.directories[1]).verdict;
  const Verdict malformed = OpenUpload(lying, round, world_.directories[1]).verdict;
  counting = false;
  EXPECT_EQ(oversized, Verdict::kOversized);
  EXPECT_EQ(malformed, Verdict::kMalformed);
  EXPECT_LT(counted_bytes, 4096U);
  const size_t limit = MaxEnvelopeBytes(world_.contract, 1);
  EXPECT_EQ(Judge(ByteView(huge).first(limit), 1), Verdict::kMalformed);
  EXPECT_EQ(Judge(ByteView(huge).first(limit + 1), 1), Verdict::kOversized);
}

TEST_F(UploadTest, RandomBytesAreRefused) {
  const std::vector<Bytes> honest = Upload(1);
  for (int i = 0; i < 20000; ++i) {
    std::array<uint8_t, 4> dice{};
    world_.random.Fill(dice);
    const auto node = static_cast<uint16_t>(dice[0] % 3);
    Bytes bytes = honest[node];
    const size_t from = dice[1] % bytes.size();
    world_.random.Fill(
        std::span(bytes).subspan(from, std::min<size_t>(1 + dice[2] % 16, bytes.size() - from)));
    if (bytes == honest[node]) continue;
    EXPECT_NE(Judge(bytes, node), Verdict::kAccepted);
  }
}

}  // namespace
}  // namespace partita::sums::upload_test
