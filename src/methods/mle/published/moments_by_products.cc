#include "methods/mle/published/moments_by_products.h"

#include "methods/mle/published/numbers.h"
#include "methods/mle/published/transfer_products.h"

namespace partita::methods::mle::published {
namespace {

using Doubles = Matrix<double>;
using RingMatrix = Matrix<UInt128>;

Eigen::Index Width(const BlockNode& node) { return static_cast<Eigen::Index>(node.columns.size()); }

TransferShape ShapeOf(const Block& block, const BlockNode& first, const BlockNode& second) {
  TransferShape shape;
  shape.rows = block.rows;
  shape.first_columns = Width(first);
  shape.second_columns = Width(second);
  return shape;
}

// Every pair of a block in one order that all parties follow.
template <typename Visit>
void ForEachPair(const Block& block, const Visit& visit) {
  for (size_t i = 0; i < block.nodes.size(); ++i) {
    for (size_t j = i + 1; j < block.nodes.size(); ++j) visit(block.nodes[i], block.nodes[j]);
  }
}

// Sums and cross products of one group.
struct Sums {
  Eigen::VectorXd sum;
  Eigen::MatrixXd cross;
};

void CollectBlock(net::Channel& channel, const Block& block, ProductMethod method, Sums& to) {
  for (const BlockNode& node : block.nodes) {
    Doubles sum(1, Width(node)), cross(Width(node), Width(node));
    channel.Exchange({}, {{From(node.party, sum), From(node.party, cross)}});
    to.sum(node.columns) += sum.transpose();
    to.cross(node.columns, node.columns) += cross;
  }
  ForEachPair(block, [&](const BlockNode& first, const BlockNode& second) {
    Doubles product(Width(first), Width(second));
    if (method == ProductMethod::kMatmul) {
      channel.Exchange({}, {{From(first.party, product)}});
    } else {
      RingMatrix a(product.rows(), product.cols()), b = a;
      channel.Exchange({}, {{From(first.party, a), From(second.party, b)}});
      const RingMatrix both = a + b;
      product = Decode(both, 2 * kDataBits<UInt128>);
    }
    to.cross(first.columns, second.columns) += product;
    to.cross(second.columns, first.columns) += product.transpose();
  });
}

// This party's part in one product; what it then tells the centre, if anything.
void ContributeProduct(net::Channel& channel, const Layout& layout, const Block& block,
                       const BlockNode& first, const BlockNode& second, const Eigen::MatrixXd& own,
                       ProductMethod method, crypto::RandomSource& random) {
  const bool is_first = channel.self() == first.party;
  if (!is_first && channel.self() != second.party) return;
  if (method == ProductMethod::kMatmul) {
    const MatmulLeakage plan = PlanMatmul(block.rows, Width(first), Width(second));
    if (!is_first) {
      MultiplyAsSecond(channel, first.party, plan, own);
      return;
    }
    const Doubles product = MultiplyAsFirst(channel, second.party, plan, own, random, nullptr);
    channel.Exchange({{To(layout.centre, product)}}, {});
    return;
  }
  const TransferShape shape = ShapeOf(block, first, second);
  const RingMatrix share =
      is_first ? TransferAsFirst(channel, second.party, shape, own, random)
               : TransferAsSecond(channel, first.party, shape, own, random, nullptr);
  channel.Exchange({{To(layout.centre, share)}}, {});
}

}  // namespace

std::vector<stats::GroupMoments> CollectMoments(net::Channel& channel, const Layout& layout,
                                                ProductMethod method) {
  const Eigen::Index p = layout.num_variables;
  std::vector<Sums> sums(NumGroups(layout),
                         {Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)});
  for (const Block& block : layout.blocks) {
    CollectBlock(channel, block, method, sums[block.group]);
  }
  std::vector<stats::GroupMoments> moments;
  for (size_t g = 0; g < sums.size(); ++g) {
    const double n = RowsOf(layout, g);
    const Eigen::VectorXd mean = sums[g].sum / n;
    moments.push_back({n, mean, sums[g].cross / n - mean * mean.transpose()});
  }
  return moments;
}

void ContributeMoments(net::Channel& channel, const Layout& layout, const OwnRows& rows,
                       ProductMethod method, crypto::RandomSource& random) {
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    const Block& block = layout.blocks[b];
    if (NodeOf(block, channel.self()) == nullptr) continue;
    const Doubles sum = rows[b].colwise().sum(), cross = rows[b].transpose() * rows[b];
    channel.Exchange({{To(layout.centre, sum), To(layout.centre, cross)}}, {});
    ForEachPair(block, [&](const BlockNode& first, const BlockNode& second) {
      ContributeProduct(channel, layout, block, first, second, rows[b], method, random);
    });
  }
}

std::vector<MatmulLeakage> MatmulLeakages(const Layout& layout) {
  std::vector<MatmulLeakage> leakages;
  for (const Block& block : layout.blocks) {
    ForEachPair(block, [&](const BlockNode& first, const BlockNode& second) {
      leakages.push_back(PlanMatmul(block.rows, Width(first), Width(second)));
    });
  }
  return leakages;
}

}  // namespace partita::methods::mle::published
