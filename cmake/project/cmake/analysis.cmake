# SPDX-License-Identifier: EPL-2.0
# Targets cppcheck, clang-tidy and static-analysis, each also as -strict: broader, and noisier.

# Adds a target that runs <program> with ARGN on the export's sources, or says that the program is missing.
function(aidge_analysis_target name program package)
  if(program)
    add_custom_target(${name} COMMAND ${program} ${ARGN} main.cpp ${AIDGE_MODEL_SOURCES}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} COMMAND_EXPAND_LISTS VERBATIM)
  else()
    add_custom_target(${name}
      COMMAND ${CMAKE_COMMAND} -E echo "${name} needs ${package}: sudo apt-get install ${package}"
      COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
  endif()
endfunction()

set(definitions "")
if(TARGET aidge_export_xnnpack)
  get_target_property(definitions aidge_export_xnnpack AIDGE_XNNPACK_FEATURES)
  list(APPEND definitions "AIDGE_XNNPACK_DESCRIPTION=\"\"")
  list(TRANSFORM definitions PREPEND -D)
endif()
set(includes ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/dnn ${CMAKE_CURRENT_SOURCE_DIR}/dnn/include)
list(TRANSFORM includes PREPEND -I)
set(cppcheck_options --error-exitcode=1 --std=c++17 --quiet --inline-suppr --suppress=missingIncludeSystem
  --suppress=missingInclude "--suppress=*:*/kernels/cpp/*" "--suppress=*:*/utils/cpp/*" ${definitions} ${includes})

find_program(CPPCHECK_EXECUTABLE NAMES cppcheck)
aidge_analysis_target(cppcheck "${CPPCHECK_EXECUTABLE}" cppcheck --enable=warning ${cppcheck_options})
aidge_analysis_target(cppcheck-strict "${CPPCHECK_EXECUTABLE}" cppcheck
  --enable=warning,style,performance,portability --inconclusive ${cppcheck_options})

find_program(CLANG_TIDY_EXECUTABLE
  NAMES clang-tidy clang-tidy-21 clang-tidy-20 clang-tidy-19 clang-tidy-18 clang-tidy-17 clang-tidy-14)
# gcc's name of the architecture, which clang does not know.
set(architecture "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "armv7")
  set(architecture --extra-arg=-march=armv7-a --extra-arg=-mfpu=neon-vfpv4)
endif()
set(standard clang-analyzer-*)
set(broad clang-analyzer-*,bugprone-*,performance-*,portability-*)
aidge_analysis_target(clang-tidy "${CLANG_TIDY_EXECUTABLE}" clang-tidy
  --quiet --config={} ${architecture} --checks=-*,${standard} --warnings-as-errors=${standard} -p=${CMAKE_BINARY_DIR})
aidge_analysis_target(clang-tidy-strict "${CLANG_TIDY_EXECUTABLE}" clang-tidy
  --quiet --config={} ${architecture} --checks=-*,${broad} --warnings-as-errors=${broad} -p=${CMAKE_BINARY_DIR})

add_custom_target(static-analysis DEPENDS cppcheck clang-tidy)
add_custom_target(static-analysis-strict DEPENDS cppcheck-strict clang-tidy-strict)
