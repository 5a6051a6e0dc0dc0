// The sections of a collection file, one reader each. Private to the collection file. Every
// function throws kBadInput as collection_file.h describes.
#pragma once

#include "study/file/toml_reader.h"
#include "sums/file/collection_file.h"

namespace partita::sums {

// [clients]: N, T_drop, T_collude and the admission.
void ReadClients(const study::TableReader& root, CollectionFile& collection);
// [sum]: dimension, clip bound, grid and ring.
void ReadSum(const study::TableReader& root, CollectionFile& collection);
// Throws if there is [sum] although [regression] says what the sum is.
void RefuseSum(const study::TableReader& root);
// [[node]] and [[reader]].
void ReadNodes(const study::TableReader& root, CollectionFile& collection);
void ReadReaders(const study::TableReader& root, CollectionFile& collection);
// [privacy]: source and size of the noise. After all others: the noise depends on them.
void ReadNoise(const study::TableReader& root, CollectionFile& collection);

}  // namespace partita::sums
