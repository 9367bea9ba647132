# SPDX-License-Identifier: EPL-2.0
# Defines the target aidge_export_gk7206: the library xmedia_cl that drives the NPU.
#
# With GK7206_SDK (a CMake or an environment variable), the root of the vendor's SDK, it is the vendor's; without, the
# simulator in simulator/. For the SDK:
#   GK7206_SDK_LIBRARIES   static (default) or share
#   GK7206_SDK_CHIP        as its folder out/<chip> is called, 7206v12a for instance; by default the only one there is
include_guard(GLOBAL)

set(GK7206_SDK "$ENV{GK7206_SDK}" CACHE PATH "Root of the GK7206 SDK; empty: the simulator")
set(GK7206_SDK_LIBRARIES static CACHE STRING "Which of the SDK's libraries: static or share")
set(GK7206_SDK_CHIP "" CACHE STRING "Folder of the chip in the SDK's out/")

# The first of the folders that exists; stops with the message when none does.
function(_aidge_gk7206_folder variable message)
  foreach(folder IN LISTS ARGN)
    if(IS_DIRECTORY "${folder}")
      set(${variable} "${folder}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  string(JOIN ", " looked ${ARGN})
  message(FATAL_ERROR "GK7206_SDK=${GK7206_SDK} ${message} (looked for ${looked}): correct or unset it.")
endfunction()

function(_aidge_gk7206_sdk)
  if(NOT GK7206_SDK_LIBRARIES MATCHES "^(static|share)$")
    message(FATAL_ERROR "GK7206_SDK_LIBRARIES=${GK7206_SDK_LIBRARIES}: use static or share.")
  endif()
  file(GLOB chips LIST_DIRECTORIES true "${GK7206_SDK}/out/*/include")
  list(TRANSFORM chips REPLACE "/include$" "")
  file(GLOB libraries LIST_DIRECTORIES true "${GK7206_SDK}/source/gmp/lib/*/nolog/${GK7206_SDK_LIBRARIES}")
  list(LENGTH chips count)
  if(GK7206_SDK_CHIP)
    set(chips "${GK7206_SDK}/out/${GK7206_SDK_CHIP}")
  elseif(count GREATER 1)
    list(TRANSFORM chips REPLACE ".*/" "")
    string(JOIN ", " names ${chips})
    message(FATAL_ERROR "GK7206_SDK=${GK7206_SDK} is built for several chips (${names}): say which with "
      "-DGK7206_SDK_CHIP=<one of them>.")
  endif()
  list(TRANSFORM chips APPEND "/lib/${GK7206_SDK_LIBRARIES}" OUTPUT_VARIABLE built)
  _aidge_gk7206_folder(includes "has no headers" "${GK7206_SDK}/source/gmp/include" "${GK7206_SDK}/include")
  _aidge_gk7206_folder(folder "has no ${GK7206_SDK_LIBRARIES} libraries" ${built} ${libraries}
    "${GK7206_SDK}/lib/${GK7206_SDK_LIBRARIES}")

  aidge_gk7206_check_headers("${includes}")
  set(names xmedia_cl xmedia_npu xmedia_common xmedia_flatcc)
  if(GK7206_SDK_LIBRARIES STREQUAL "static")
    # The archives need each other.
    list(TRANSFORM names PREPEND "-l" OUTPUT_VARIABLE flags)
    target_link_libraries(aidge_export_gk7206 INTERFACE -Wl,-Bstatic -Wl,--start-group ${flags} -Wl,--end-group)
    if(NOT AIDGE_STATIC)
      target_link_libraries(aidge_export_gk7206 INTERFACE -Wl,-Bdynamic)
    endif()
  else()
    # They do not name each other.
    list(TRANSFORM names PREPEND "-l" OUTPUT_VARIABLE flags)
    target_link_libraries(aidge_export_gk7206 INTERFACE ${flags})
  endif()
  target_link_directories(aidge_export_gk7206 INTERFACE ${folder})
  target_include_directories(aidge_export_gk7206 SYSTEM INTERFACE ${includes})
  target_compile_definitions(aidge_export_gk7206 INTERFACE USER_BIT_32 KERNEL_BIT_32)
  target_link_libraries(aidge_export_gk7206 INTERFACE pthread m rt dl)
  message(STATUS "NPU: xmedia_cl of the SDK (${folder})")
endfunction()

# Stops where the headers are those of an older runtime, whose structures are others.
function(aidge_gk7206_check_headers includes)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/gk7206_probe.c "#include <xmedia_cl.h>\n"
    "#include <xmedia_mmz.h>\n#include <xmedia_sys.h>\n"
    "int main(void) { xmedia_cl_tensor_info_inout io = {0}; xmedia_cl_tensor tensor = {0};\n"
    "  return io.tensor_batch == 0 && tensor.name == 0 && tensor.size == 0 ? 0 : 1; }\n")
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  try_compile(present ${CMAKE_CURRENT_BINARY_DIR}/gk7206_probe ${CMAKE_CURRENT_BINARY_DIR}/gk7206_probe.c
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${includes}"
    COMPILE_DEFINITIONS -DUSER_BIT_32 -DKERNEL_BIT_32 OUTPUT_VARIABLE output)
  if(NOT present)
    string(REGEX MATCH "[^\n]*error[^\n]*" reason "${output}")
    message(FATAL_ERROR "The headers of ${includes} are those of an older NPU runtime, without tensor_batch and name "
      "(${reason}): use an SDK for the GK7206 (XM7206).")
  endif()
endfunction()

function(_aidge_gk7206_simulator)
  set(CMAKE_UNITY_BUILD ON) # half the time
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
  add_subdirectory(${CMAKE_CURRENT_SOURCE_DIR}/simulator ${CMAKE_BINARY_DIR}/simulator EXCLUDE_FROM_ALL)
  set(CMAKE_UNITY_BUILD OFF)
  target_link_libraries(aidge_export_gk7206 INTERFACE xmedia_cl xmedia_npu xmedia_common xmedia_flatcc)
  set(reference ${CMAKE_CURRENT_SOURCE_DIR}/simulator/reference)
  if(EXISTS ${reference}/reference.cpp)
    # The region as the CPU computes it. An object library: nothing but a weak reference asks for it.
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${reference}/dnn/*.cpp ${reference}/dnn/*.S)
    list(SORT sources)
    add_library(npu_reference OBJECT ${reference}/reference.cpp ${sources})
    target_include_directories(npu_reference PRIVATE ${reference} ${reference}/dnn ${reference}/dnn/include
      ${CMAKE_CURRENT_SOURCE_DIR}/dnn/include)
    foreach(file IN ITEMS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/export_xnnpack.cmake
                          ${reference}/cmake/export_xnnpack.cmake)
      if(EXISTS ${file} AND NOT TARGET aidge_export_xnnpack)
        include(${file})
      endif()
    endforeach()
    if(TARGET aidge_export_xnnpack)
      target_link_libraries(npu_reference PUBLIC aidge_export_xnnpack)
      target_link_libraries(aidge_export_gk7206 INTERFACE aidge_export_xnnpack)
    endif()
    target_sources(aidge_export_gk7206 INTERFACE $<TARGET_OBJECTS:npu_reference>)
  endif()
  # What the simulator answers with, where the compiler has left it.
  file(GLOB vectors CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/input_data*.bin
                                      ${CMAKE_CURRENT_SOURCE_DIR}/output_data*.bin)
  foreach(file IN LISTS vectors)
    configure_file(${file} ${CMAKE_BINARY_DIR} COPYONLY)
  endforeach()
  message(STATUS "NPU: simulator (GK7206_SDK=<root of the SDK> builds for the board)")
endfunction()

add_library(aidge_export_gk7206 INTERFACE)
if(GK7206_SDK)
  _aidge_gk7206_sdk()
else()
  _aidge_gk7206_simulator()
endif()

# Models are found beside the program.
file(GLOB AIDGE_MODEL_FILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.xmm)
foreach(file IN LISTS AIDGE_MODEL_FILES)
  configure_file(${file} ${CMAKE_BINARY_DIR} COPYONLY)
endforeach()
