#include "mpc/ot/ot_oracle.h"

#include "mpc/linear_engine.h"
#include "mpc/ot/transfers.h"

namespace partita::mpc::ot {
namespace {

using crypto::Block;

OtTask TaskOf(Shape values, size_t ring_bits) {
  OtTask task;
  task.groups = values.size();
  task.transfers = ring_bits;
  task.widths = ProductWidths(ring_bits);
  return task;
}

}  // namespace

OracleCost CostOfOracle(Shape values, const OracleTask& task, size_t ring_bits, bool link_is_made) {
  const PartyIndex centre = task.centre, other = 1 - centre;
  const OtTask transfers = TaskOf(values, ring_bits);
  const size_t element_bytes = WidthBytes(ring_bits);
  OracleCost cost;
  ExecutionCost columns;
  columns.parts = {{0, other, centre, ExtensionBytes(PaddedTransfers(values.size() * ring_bits))}};
  columns.steps = 1;
  const bool make_link = OracleNeedsLink(values) && !link_is_made;
  cost.setup = InSequence(make_link ? CostOfLink() : ExecutionCost{}, columns);
  cost.setup.requirements = {
      {Correlation::Kind::kOracleRows, {}, values, {MaxOracleRows(task), values.rows}}};
  for (const OracleKind& kind : task.kinds) {
    ExecutionCost& evaluation = cost.evaluations.emplace_back();
    evaluation.steps = 2;
    evaluation.parts = {
        {0, centre, other, kOracleHeadBytes + kind.rows * transfers.PayloadBytes(transfers.groups)},
        {1, other, centre, kind.rows * values.cols * element_bytes}};
  }
  cost.stop.steps = 1;
  cost.stop.parts = {{0, centre, other, kOracleHeadBytes}};
  return cost;
}

template <typename R>
Oracle<R>::Oracle(OracleSession& session, Link* link, std::span<const Word> share)
    : session_(session),
      link_(link),
      share_(share),
      peer_(1 - session.channel().self()),
      transfers_(share.size() * R::kBits) {}

template <typename R>
void Oracle<R>::Run(const OracleQueries& queries) {
  rows_.resize(PaddedTransfers(transfers_));
  if (session_.at_centre()) {
    if (link_ != nullptr) SetUpAtCentre();
    queries([this](size_t kind, const IntMatrix& weights) { return Evaluate(kind, weights); });
    session_.Stop(2, {}, peer_);
    return;
  }
  if (link_ != nullptr) SetUpElsewhere();
  const OtTask task = TaskOf({1, session_.values().cols}, R::kBits);
  while (auto kind = session_.NextRequest(task.PayloadBytes(task.groups))) Answer(*kind);
}

template <typename R>
void Oracle<R>::SetUpAtCentre() {
  Bytes columns(ExtensionBytes(rows_.size()));
  net::Receive receive;
  receive.from = peer_;
  receive.into = columns;
  session_.channel().Exchange({}, {&receive, 1});
  link_->sender().Extend(columns, rows_);
  first_index_ = link_->TakeIndices(session_.channel().self(), rows_.size());
}

template <typename R>
void Oracle<R>::SetUpElsewhere() {
  BitAppender choices;
  for (const Word& word : share_) choices.Append(word, R::kBits);
  choices.PadTo(rows_.size());
  choices_ = choices.words();
  Bytes columns(ExtensionBytes(rows_.size()));
  link_->receiver().Extend(choices_, columns, rows_);
  const net::Send send{peer_, columns, 0, nullptr};
  session_.channel().Exchange({&send, 1}, {});
  first_index_ = link_->TakeIndices(peer_, rows_.size());
}

template <typename R>
IntMatrix Oracle<R>::Evaluate(size_t kind, const IntMatrix& weights) {
  session_.Begin(kind, weights);
  const auto [d, m] = session_.values();
  const size_t q = weights.shape.rows;
  const OtTask task = TaskOf(session_.values(), R::kBits);
  const uint64_t row_bytes = task.PayloadBytes(task.groups);
  const std::vector<Word> plain = ToWords<R>(weights);
  std::vector<Word> own(q * m), reply(q * m);
  MatMul<R>(plain, share_, q, d, m, own);

  Bytes request(kOracleHeadBytes + q * row_bytes + kSlackBytes);
  const auto head = OracleHead(1 + kind);
  std::copy(head.begin(), head.end(), request.begin());
  for (size_t row = 0; transfers_ > 0 && row < q; ++row) {
    const Transfers transfers{task, link_->permutation(),
                              std::span<const Block>(rows_).first(transfers_), first_index_,
                              next_row_++};
    SendProducts(
        transfers, link_->sender().difference(),
        request.data() + kOracleHeadBytes + row * row_bytes, [](size_t g) { return g; },
        [&, cols = m, rows = d](size_t g, size_t, size_t) -> Block {
          return plain[row * rows + g / cols];
        },
        [&, cols = m](size_t g, size_t j, size_t, Block share) {
          Word& sum = own[row * cols + g % cols];
          sum = R::Add(sum, R::Reduce(share << j));
        });
  }
  const net::Send send{peer_, ByteView(request).first(request.size() - kSlackBytes), 0, nullptr};
  net::Receive receive;
  receive.from = peer_;
  receive.into = WireBytes(Words<R>(reply));
  session_.channel().Exchange({&send, 1}, {&receive, 1});
  ReduceWords<R>(reply);
  Add<R>(own, reply, own);
  return FromWords<R>({q, m}, own);
}

template <typename R>
void Oracle<R>::Answer(size_t kind) {
  const size_t m = session_.values().cols, q = session_.task().kinds[kind].rows;
  const OtTask task = TaskOf(session_.values(), R::kBits);
  const uint64_t row_bytes = task.PayloadBytes(task.groups);
  Bytes payload(session_.body().begin(), session_.body().end());
  payload.resize(payload.size() + kSlackBytes);
  std::vector<Word> reply(q * m);
  for (size_t row = 0; transfers_ > 0 && row < q; ++row) {
    const Transfers transfers{task, link_->permutation(),
                              std::span<const Block>(rows_).first(transfers_), first_index_,
                              next_row_++};
    ReceiveProducts(
        transfers, choices_, 0, payload.data() + row * row_bytes, [](size_t g) { return g; },
        [&](size_t g, size_t j, size_t, Block share) {
          Word& sum = reply[row * m + g % m];
          sum = R::Add(sum, R::Reduce(share << j));
        });
  }
  const net::Send send{peer_, WireBytes(ConstWords<R>(reply)), 0, nullptr};
  session_.channel().Exchange({&send, 1}, {});
}

template class Oracle<Ring128>;
template class Oracle<Ring64>;
template class Oracle<Ring16>;
template class Oracle<Ring8>;
template class Oracle<Ring4>;

}  // namespace partita::mpc::ot
