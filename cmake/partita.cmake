# Helpers: one library per module, one test binary per test file.

add_library(partita_options INTERFACE)
target_include_directories(partita_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(partita_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror)

# partita_module(NAME SOURCES a.cc b.cc DEPENDS partita_base ... [PRIVATE_DEPENDS Eigen3::Eigen ...])
function(partita_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(partita_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(partita_${name} PUBLIC partita_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
endfunction()

# partita_test(NAME file_test.cc DEPENDS partita_mpc ... LABELS unit mpc)
# LABELS choose the legs a test runs in: unit parsers net mpc ledger stat slow (see CONTRIBUTING.md).
function(partita_test name source)
  cmake_parse_arguments(ARG "" "TIMEOUT" "DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main Threads::Threads)
  target_compile_definitions(${name} PRIVATE PARTITA_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             PARTITA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# partita_bench(NAME file.cc DEPENDS ...)
function(partita_bench name source)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} benchmark::benchmark Threads::Threads)
endfunction()

# partita_fuzz(NAME file.cc DEPENDS ...): a libFuzzer target whose corpus is fuzz/corpus/NAME.
function(partita_fuzz name source)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} -fsanitize=fuzzer)
  target_compile_definitions(${name} PRIVATE PARTITA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endfunction()
