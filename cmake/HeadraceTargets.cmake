# Four functions say all that a room's CMakeLists.txt needs to say.
include(GoogleTest)

# Under ThreadSanitizer every binary links this: it tells TSan what Debian's uninstrumented Abseil orders.
if(HEADRACE_SANITIZE MATCHES "thread")
  add_library(hr_tsan OBJECT ${CMAKE_SOURCE_DIR}/tests/sanitizers/tsan_absl_sync.cc ${CMAKE_SOURCE_DIR}/tests/sanitizers/tsan_grpc_queue.cc)
  set_target_properties(hr_tsan PROPERTIES POSITION_INDEPENDENT_CODE ON)  # the Python module links it too
  target_link_libraries(hr_tsan PUBLIC absl::synchronization ${CMAKE_DL_LIBS})
endif()

# headrace_library(NAME SOURCES a.cc ... DEPS lib ... [PRIVATE lib ...]): one static library per folder, target hr_NAME.
# PRIVATE: libraries that only the .cc files include.
function(headrace_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;PRIVATE" ${ARGN})
  add_library(hr_${name} STATIC ${A_SOURCES})
  target_include_directories(hr_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(hr_${name} PUBLIC ${A_DEPS} PRIVATE ${A_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY HEADRACE_LIBRARIES hr_${name})
endfunction()

# headrace_test(NAME SOURCES a_test.cc ... DEPS lib ... [LABELS l ...] [TIMEOUT s]): one gtest binary, one ctest entry.
function(headrace_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  if(HEADRACE_SANITIZE)
    math(EXPR A_TIMEOUT "5 * ${A_TIMEOUT}")
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS} GTest::gmock GTest::gtest_main $<TARGET_NAME_IF_EXISTS:hr_tsan>)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT}
    ENVIRONMENT "HEADRACE_SOURCE_DIR=${CMAKE_SOURCE_DIR};HEADRACE_BUILD_DIR=${CMAKE_BINARY_DIR};LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/sanitizers/lsan.supp:print_suppressions=0")
endfunction()

# headrace_plugins(NAME KIND Registry HEADER registry.h [NAMESPACE headrace::x] FILES a.cc b.cc DEPS lib ...): a plug-in folder. Every a.cc defines
# `void Register_a(Registry&)`; the generated `void RegisterAll_NAME(Registry&)` calls each of them by name, so a new
# file is registered without a static initialiser and cannot be dropped by the linker.
function(headrace_plugins name)
  cmake_parse_arguments(A "" "KIND;HEADER;NAMESPACE" "FILES;EXTRA;DEPS" ${ARGN})
  if(NOT A_NAMESPACE)
    set(A_NAMESPACE headrace)
  endif()
  set(declarations "")
  set(calls "")
  foreach(file ${A_FILES})
    get_filename_component(stem ${file} NAME_WE)
    string(APPEND declarations "void Register_${stem}(${A_KIND}& registry);\n")
    string(APPEND calls "  Register_${stem}(registry);\n")
  endforeach()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}_plugins.cc)
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
"// Made by CMake from the files of this folder. Do not edit.
#include \"${A_HEADER}\"
namespace ${A_NAMESPACE} {
${declarations}
void RegisterAll_${name}(${A_KIND}& registry) {
${calls}}
}  // namespace ${A_NAMESPACE}
")
  headrace_library(${name} SOURCES ${A_FILES} ${A_EXTRA} ${out} DEPS ${A_DEPS})
endfunction()

# headrace_fuzz(NAME SOURCES f.cc DEPS lib ...): a libFuzzer target under the fuzz preset; elsewhere nothing.
function(headrace_fuzz name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  if(HEADRACE_FUZZ)
    add_executable(${name} ${A_SOURCES})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${A_DEPS})
  endif()
endfunction()
