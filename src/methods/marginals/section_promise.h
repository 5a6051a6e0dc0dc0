// What analyses with noised counts say of rows and of the promise, whichever method they are of. Each
// throws kBadInput with place and hint.
#pragma once

#include "methods/marginals/spec.h"
#include "study/file/study_file.h"
#include "study/file/toml_reader.h"

namespace partita::methods::marginals {

// The name of the method that was asked for.
const char* MethodOf(const Spec& spec);

// [design], [population] and [engine]: all rows are counted.
void RequireRows(const study::TableReader& analysis, const study::StudyFile& study,
                 const Spec& spec);

// [analysis.privacy], `expected_rows`, and whether blocks declare their rows.
void ReadPromise(const study::TableReader& analysis, const study::StudyFile& study, Spec& spec);

}  // namespace partita::methods::marginals
