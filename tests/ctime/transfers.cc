// Oblivious transfers: bit matrices, the extension, pads and products, base transfers.
#include "mpc/ot/transfers.h"

#include "mpc/ot/base_ot.h"
#include "mpc/ot/bit_transpose.h"
#include "mpc/ot/extension.h"
#include "tests/ctime/primitives.h"
#include "tests/ctime/secret_source.h"

namespace partita::ctime {
namespace {

namespace ot = mpc::ot;
using crypto::Block;

std::vector<crypto::Key> SecretKeys(size_t count, uint64_t seed) {
  std::vector<crypto::Key> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(SecretKey(seed + i));
  return keys;
}

void BitTranspose() {
  const auto columns = Secrets<uint8_t>(ot::kColumns * 32);
  std::vector<Block> rows(256);
  ot::RowsOfColumns(columns.data(), 32, rows);
  Use(rows);
}

// Of the receiver: keys, and which transfers it chooses.
void ExtensionReceiver() {
  const auto zero = SecretKeys(ot::kBaseTransfers, 1), one = SecretKeys(ot::kBaseTransfers, 1000);
  std::vector<ot::BaseOtKeys> base;
  for (size_t m = 0; m < zero.size(); ++m) base.push_back({zero[m], one[m]});
  SecretSource random;
  ot::CotReceiver receiver(base, random);
  const auto choices = Secrets<uint64_t>(4);
  Bytes message(ot::ExtensionBytes(256));
  std::vector<Block> rows(256);
  receiver.Extend(choices, message, rows);
  Use(rows);
}

// Of the sender: keys, and the difference. The receiver's messages travel.
void ExtensionSender() {
  const Block difference = Secrets<Block>(1)[0];
  const Bytes setup(ot::kExtensionSetupBytes, 5);
  ot::CotSender sender(difference, SecretKeys(ot::kBaseTransfers, 1), setup);
  const Bytes message(ot::ExtensionBytes(256), 7);
  std::vector<Block> rows(256);
  sender.Extend(message, rows);
  Use(rows);
}

ot::OtTask MakeTask(size_t transfers, size_t entries) {
  ot::OtTask task;
  task.transfers = transfers;
  task.entries = entries;
  for (size_t j = 0; j < transfers; ++j) task.widths.push_back(static_cast<uint8_t>(16 - j));
  return task;
}

void ProductsOfTransfers() {
  for (size_t entries : {1, 3}) {
    const ot::OtTask task = MakeTask(16, entries);
    crypto::BlockPermutation permutation(Bytes(16, 3));
    const auto rows = Secrets<Block>(64, 1), numbers = Secrets<Block>(4 * entries, 2);
    const ot::Transfers transfers = {task, permutation, rows, 17, 2};
    Bytes payload(task.PayloadBytes(4) + ot::kSlackBytes);
    std::vector<Block> shares(4 * entries);
    auto same = [](size_t g) { return g; };
    auto share = [&](size_t g, size_t j, size_t c, Block s) { shares[g * entries + c] += s << j; };
    ot::SendProducts(
        transfers, Secrets<Block>(1, 3)[0], payload.data(), same,
        [&](size_t g, size_t, size_t c) { return numbers[g * entries + c]; }, share);
    ot::BitAppender choices;
    for (Block number : Secrets<Block>(4, 4)) choices.Append(number, 16);
    ot::ReceiveProducts(transfers, choices.words(), 0, payload.data(), same, share);
    Use(shares);
  }
}

void BitsOfTransfers() {
  const ot::OtTask task = {
      .item = ot::OtTask::Item::kAnd, .outer = {}, .transfers = 1, .widths = {}};
  crypto::BlockPermutation permutation(Bytes(16, 3));
  const auto rows = Secrets<Block>(100, 1);
  const auto messages = Secrets<uint8_t>(100, 2);
  const ot::Transfers transfers = {task, permutation, rows, 5};
  Bytes payload(task.PayloadBytes(100) + ot::kSlackBytes);
  Bytes shares(100);
  auto share = [&](size_t i, uint8_t s) { shares[i] ^= s; };
  ot::SendBits(
      transfers, Secrets<Block>(1, 3)[0], payload.data(),
      [&](size_t i) { return static_cast<uint8_t>(messages[i] & 1); }, share);
  ot::ReceiveBits(transfers, Secrets<uint64_t>(2, 4), 0, payload.data(), share);
  Use(shares);
}

// With two transfers of 128: the group is slow under valgrind.
constexpr size_t kFewTransfers = 2;

void BaseReceiver() {
  std::vector<bool> choices = ot::BaseChoices(Secrets<Block>(1)[0]);
  choices.resize(kFewTransfers);
  SecretSource random;
  crypto::SystemRandom system;
  const ot::BaseOtReceiver receiver(AsBytes("session"), "peer", choices, random);
  const ot::BaseOtSender peer(AsBytes("session"), "peer", system);
  const auto keys = receiver.Finish(peer.message());
  Use(keys);
}

void BaseSender() {
  SecretSource random;
  crypto::SystemRandom system;
  const ot::BaseOtReceiver peer(AsBytes("session"), "peer", {false, true}, system);
  const ot::BaseOtSender sender(AsBytes("session"), "peer", random);
  const auto keys = sender.Finish(peer.message(), kFewTransfers);
  Use(keys);
}

}  // namespace

std::vector<Primitive> TransferPrimitives() {
  return {{"bit_transpose", BitTranspose},
          {"extension_receiver", ExtensionReceiver},
          {"extension_sender", ExtensionSender},
          {"products_of_transfers", ProductsOfTransfers},
          {"bits_of_transfers", BitsOfTransfers},
          {"base_receiver", BaseReceiver},
          {"base_sender", BaseSender}};
}

}  // namespace partita::ctime
