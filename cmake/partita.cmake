# Helpers: one library per module, one test program per module and sanitizer leg, unity builds of both.

# With other flags, of a distribution or of later compilers, come other warnings: OFF for packages.
option(PARTITA_WARNINGS_ARE_ERRORS "whether a warning of the compiler stops the build" ON)

add_library(partita_options INTERFACE)
target_include_directories(partita_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(partita_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  $<$<BOOL:${PARTITA_WARNINGS_ARE_ERRORS}>:-Werror>
  # Sources compiled together are included: types of their anonymous namespaces stay in one object.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
# A quarter of GCC's time is its garbage collection, of memory that few machines lack. Changes no code.
if(PARTITA_MEMORY_MB GREATER 7000)
  target_compile_options(partita_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=2000000>)
endif()

# partita_unity(OUT NAME BASE SOURCE...): sets OUT to sources that include the given ones, at most
# PARTITA_UNITY_SIZE at a time; none has sources of two folders unless PARTITA_UNITY_OF_MODULES
# (docs/decisions/0207). BASE is the include folder that they are named from, so that the text is the
# same in every checkout and preset. With PARTITA_UNITY=OFF, and for generated sources, OUT is the
# sources themselves.
function(partita_unity out name base)
  set(result)
  set(folders)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${path}" is_generated)
    if(is_generated OR NOT PARTITA_UNITY)
      list(APPEND result ${path})
      continue()
    endif()
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${base} OUTPUT_VARIABLE below)
    set(folder ${name})
    if(NOT PARTITA_UNITY_OF_MODULES)
      cmake_path(GET below PARENT_PATH folder)
    endif()
    list(APPEND folders "${folder}")
    list(APPEND "sources_${folder}" ${below})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    set(sources ${sources_${folder}})
    list(SORT sources)
    list(LENGTH sources count)
    string(MAKE_C_IDENTIFIER "${folder}" stem)
    # Parts of equal size.
    math(EXPR parts "(${count} + ${PARTITA_UNITY_SIZE} - 1) / ${PARTITA_UNITY_SIZE}")
    foreach(part RANGE 1 ${parts})
      math(EXPR first "${count} * (${part} - 1) / ${parts}")
      math(EXPR size "${count} * ${part} / ${parts} - ${first}")
      list(SUBLIST sources ${first} ${size} batch)
      list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN batch "" text)
      set(unity ${CMAKE_CURRENT_BINARY_DIR}/unity_${name}/${stem}_${part}.cc)
      file(CONFIGURE OUTPUT ${unity} CONTENT "${text}" @ONLY)
      list(APPEND result ${unity})
    endforeach()
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# Half of what a compiler spends on a unit is optimisation: -Og where nothing is hot and for tests
# (docs/decisions/0208). It comes after the flags of the build type and wins.
set(PARTITA_COLD_OPTIONS $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Og>)
# With sanitizers three quarters: tests are not instrumented for coverage there, and not optimised
# but those of `stats`, which compute as much as the library does.
set(PARTITA_TEST_OPTIONS ${PARTITA_COLD_OPTIONS})
if(CMAKE_CXX_FLAGS MATCHES fuzzer-no-link)
  list(APPEND PARTITA_TEST_OPTIONS -fno-sanitize=fuzzer-no-link)
endif()

# partita_module(NAME SOURCES a.cc b.cc DEPENDS partita_base ... [PRIVATE_DEPENDS Eigen3::Eigen ...]
#                [ALONE c.cc] [COLD] [COLD_SOURCES d.cc ...]): ALONE are sources with compile options of
# their own; COLD is a module, COLD_SOURCES are sources of one, in whose code no time is spent.
function(partita_module name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;ALONE;COLD_SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  partita_unity(sources ${name} ${CMAKE_SOURCE_DIR}/src ${ARG_SOURCES})
  partita_unity(cold ${name}_cold ${CMAKE_SOURCE_DIR}/src ${ARG_COLD_SOURCES})
  if(ARG_COLD)
    list(APPEND cold ${sources})
  endif()
  set_source_files_properties(${cold} PROPERTIES COMPILE_OPTIONS "${PARTITA_COLD_OPTIONS}")
  list(APPEND cold ${sources})
  list(REMOVE_DUPLICATES cold)
  add_library(partita_${name} STATIC ${cold} ${ARG_ALONE})
  target_link_libraries(partita_${name} PUBLIC partita_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
endfunction()

# The kinds of tests (see CONTRIBUTING.md). `tests_LABEL` builds the tests of one label.
set(PARTITA_TEST_LABELS unit ctime parsers net mpc protocol ledger study stat slow)
# Those that run under a sanitizer; .ci/run names the same ones.
set(PARTITA_ASAN_LABELS unit parsers net mpc protocol)
set(PARTITA_TSAN_LABELS net mpc ledger)
foreach(label IN LISTS PARTITA_TEST_LABELS)
  add_custom_target(tests_${label})
endforeach()

# Beside its kinds a test has its folder as a label: tests/mpc/ot.
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
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
  set_tests_properties(${name} PROPERTIES LABELS "${labels};${folder}" TIMEOUT ${timeout})
endfunction()

# partita_test(NAME file_test.cc DEPENDS partita_mpc ... LABELS unit mpc [NEEDS target...]
#              [TIMEOUT seconds] [ALONE] [THOROUGH]): the tests of one file. NEEDS are targets that
# have to be there when it runs; ALONE gives it a program of its own. bin/NAME runs it by hand. THOROUGH
# adds the same with all cases that the file has (tests/thorough.h), under the label slow and the name
# NAME without `_test` and with `_thorough_test`.
function(partita_test name source)
  cmake_parse_arguments(ARG "ALONE;THOROUGH" "TIMEOUT" "DEPENDS;LABELS;NEEDS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "test ${name}: there is no file ${path}")
  endif()
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/tests OUTPUT_VARIABLE file)
  string(REGEX REPLACE "/.*" "" module "${file}")
  # Which legs of .ci/run it is in decides about its program, so that no leg builds another's tests.
  set(legs "")
  foreach(leg ASAN TSAN)
    foreach(label IN LISTS ARG_LABELS)
      if(label IN_LIST PARTITA_${leg}_LABELS AND NOT legs MATCHES ${leg})
        string(APPEND legs _${leg})
      endif()
    endforeach()
  endforeach()
  if("slow" IN_LIST ARG_LABELS)
    set(legs _slow)
  endif()
  string(TOLOWER ${module}_tests${legs} program)
  if(ARG_ALONE)
    set(program ${name}_alone)
    if(legs STREQUAL "_slow")
      string(APPEND program _slow)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY partita_programs_${module} ${program})
  set_property(GLOBAL APPEND PROPERTY partita_sources_${program} ${path})
  set_property(GLOBAL APPEND PROPERTY partita_depends_${program} ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY partita_needs_${program} ${ARG_NEEDS})
  add_custom_target(${name})
  set_property(GLOBAL APPEND PROPERTY partita_names_${program} ${name})
  add_test(NAME ${name} COMMAND ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program} ${file})
  partita_label_test(${name} "${ARG_LABELS}" ${ARG_TIMEOUT})
  if(ARG_THOROUGH)
    string(REGEX REPLACE "_test$" "_thorough_test" thorough ${name})
    add_test(NAME ${thorough} COMMAND ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program} ${file})
    partita_label_test(${thorough} slow 3600)
    set_tests_properties(${thorough} PROPERTIES ENVIRONMENT PARTITA_THOROUGH=1)
    add_dependencies(tests_slow ${name})
  endif()
  set(PARTITA_LAUNCH "${program} ${file}")
  configure_file(${CMAKE_SOURCE_DIR}/cmake/run_one_test.in ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name} @ONLY
                 FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endfunction()

# partita_test_programs(MODULE): the programs of the tests that the module's folder has listed. Slow
# tests are built only where they are asked for (`tests_slow`).
function(partita_test_programs module)
  get_property(programs GLOBAL PROPERTY partita_programs_${module})
  list(REMOVE_DUPLICATES programs)
  foreach(program IN LISTS programs)
    foreach(what sources depends needs names)
      get_property(${what} GLOBAL PROPERTY partita_${what}_${program})
      list(REMOVE_DUPLICATES ${what})
    endforeach()
    partita_unity(sources ${program} ${CMAKE_SOURCE_DIR} ${sources})
    add_executable(${program} ${sources})
    target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${program} PRIVATE partita_test_main ${depends})
    if(needs)
      add_dependencies(${program} ${needs})
    endif()
    if(program MATCHES "_slow$")
      set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
    else()
      target_compile_options(${program} PRIVATE ${PARTITA_TEST_OPTIONS})
      if(NOT module STREQUAL stats)
        target_compile_options(${program} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-O0>)
      endif()
    endif()
    foreach(name IN LISTS names)
      add_dependencies(${name} ${program})
    endforeach()
  endforeach()
endfunction()

# partita_script_test(NAME file_test.sh LABELS unit [TIMEOUT seconds]): a shell script that exits 0
# if all is well. Called with the source and the build folder; works in a temporary folder.
function(partita_script_test name script)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;ARGUMENTS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
    ${ARG_ARGUMENTS})
  partita_label_test(${name} "${ARG_LABELS}" ${ARG_TIMEOUT})
endfunction()

# partita_bench(NAME file.cc DEPENDS ...): built by name, or all of them by `benchmarks`.
add_custom_target(benchmarks)
function(partita_bench name source)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  add_dependencies(benchmarks ${name})
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
