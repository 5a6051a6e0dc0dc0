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

# The legs a test can run in (see CONTRIBUTING.md). `tests_LABEL` builds the tests of one label.
set(PARTITA_TEST_LABELS unit parsers net mpc protocol ledger study stat slow)
foreach(label IN LISTS PARTITA_TEST_LABELS)
  add_custom_target(tests_${label})
endforeach()

function(partita_label_test name labels timeout)
  foreach(label IN LISTS labels)
    if(NOT label IN_LIST PARTITA_TEST_LABELS)
      message(FATAL_ERROR "test ${name}: unknown label '${label}', known: ${PARTITA_TEST_LABELS}")
    endif()
    if(TARGET ${name})
      add_dependencies(tests_${label} ${name})
    endif()
  endforeach()
  if(NOT labels)
    message(FATAL_ERROR "test ${name} has no label: no leg would run it, known: ${PARTITA_TEST_LABELS}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
endfunction()

# partita_test(NAME file_test.cc DEPENDS partita_mpc ... LABELS unit mpc [TIMEOUT seconds])
function(partita_test name source)
  cmake_parse_arguments(ARG "" "TIMEOUT" "DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} partita_test_paths GTest::gmock GTest::gtest_main
                                        Threads::Threads)
  add_test(NAME ${name} COMMAND ${name})
  partita_label_test(${name} "${ARG_LABELS}" ${ARG_TIMEOUT})
endfunction()

# partita_script_test(NAME file_test.sh LABELS unit [TIMEOUT seconds]): a shell script that exits 0
# if all is well. Called with the source and the build folder; works in a temporary folder.
function(partita_script_test name script)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  partita_label_test(${name} "${ARG_LABELS}" ${ARG_TIMEOUT})
endfunction()

# partita_bench(NAME file.cc DEPENDS ...)
function(partita_bench name source)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} benchmark::benchmark Threads::Threads)
endfunction()

add_custom_target(fuzzers)

# partita_fuzz(NAME_fuzz NAME_fuzz.cc DEPENDS ...): a libFuzzer target whose corpus is
# fuzz/corpus/NAME; run by tools/run_fuzzers.
function(partita_fuzz name source)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
  add_dependencies(fuzzers ${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} -fsanitize=fuzzer)
endfunction()
