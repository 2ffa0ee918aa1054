# Language level, warnings, compiler cache, linker, sanitizers: what every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the Python module links the same static libraries

option(HEADRACE_ASSERTS "Keep assert() in optimised builds" OFF)
option(HEADRACE_FUZZ "Build libFuzzer targets (needs clang)" OFF)
set(HEADRACE_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined or thread")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths relative to the checkout, so that a second clone finds what the first one compiled.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Werror -fno-omit-frame-pointer)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
if(HEADRACE_ASSERTS)
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports these inside libstdc++ and Abseil at -O2 (gcc bugs 105562, 105329).
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
                      -Wno-array-bounds -Wno-stringop-overread -Wno-dangling-pointer)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)
endif()
if(HEADRACE_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  add_compile_options(-fsanitize=${HEADRACE_SANITIZE})
  add_link_options(-fsanitize=${HEADRACE_SANITIZE})
  if(HEADRACE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(HEADRACE_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(HEADRACE_FUZZ)
  # Coverage of the libraries too, not of the fuzz targets alone: it is what libFuzzer steers by.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
