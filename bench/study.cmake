partita_bench(study_bench study_bench.cc DEPENDS partita_options fmt::fmt nlohmann_json::nlohmann_json)
target_compile_definitions(study_bench PRIVATE PARTITA_PROGRAM="${CMAKE_BINARY_DIR}/bin/partita"
                                               PARTITA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
add_dependencies(study_bench partita)
