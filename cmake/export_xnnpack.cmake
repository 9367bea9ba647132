# SPDX-License-Identifier: EPL-2.0
# Defines the target aidge_export_xnnpack: XNNPACK's headers and libraries, and what its version can do.
#
# XNNPACK comes from the first of (each a CMake or an environment variable)
#   1. XNNPACK_ROOT: a finished static build, <checkout>/build/<config>, or an install prefix;
#   2. the user's cache, ~/.cache/aidge_export_gk7206 (XDG_CACHE_HOME and AIDGE_GK7206_CACHE move it), filled by
#      `aidge-gk7206 xnnpack build`: a build for the same architecture, compiler and -m flags. Of several the pinned
#      commit, else the newest; AIDGE_XNNPACK_VERSION (for instance 4ea82e5) asks for one by its commit.
#      With XNNPACK_SOURCE_DIR set only a build of that same version counts;
#   3. XNNPACK_SOURCE_DIR, and CPUINFO_, PTHREADPOOL_, FXDIV_SOURCE_DIR (fetched when not given), built with the export;
#   4. the pinned commit, fetched from GitHub and built with the export.
#
# Compile definitions: AIDGE_XNNPACK_DESCRIPTION ("75db3c0 2026-08-21, from the cache") and, each 0 or 1,
# AIDGE_XNN_HAS_CODE_CACHE, _HAS_WORKSPACE_ALIGNMENT, _UNARY_HAS_LUT, _BILINEAR_HAS_DATATYPE, _AVGPOOL_HAS_WORKSPACE,
# _HAS_GELU, _HAS_APPROXGELU, _HAS_REDUCE_MAX (and min).
include_guard(GLOBAL)
foreach(part IN ITEMS identity options probe imported cached sources)
  include(${CMAKE_CURRENT_LIST_DIR}/xnnpack/${part}.cmake)
endforeach()

# CMake variable, else environment variable, as an absolute path.
function(_aidge_xnnpack_setting variable name)
  set(value "${${name}}")
  if(NOT value)
    set(value "$ENV{${name}}")
  endif()
  if(value AND ARGN)
    get_filename_component(value "${value}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
  endif()
  set(${variable} "${value}" PARENT_SCOPE)
endfunction()

function(_aidge_xnnpack_provide)
  _aidge_xnnpack_setting(root XNNPACK_ROOT PATH)
  _aidge_xnnpack_setting(source XNNPACK_SOURCE_DIR PATH)
  _aidge_xnnpack_setting(wanted AIDGE_XNNPACK_VERSION)
  # A project(XNNPACK) fetched by an earlier run leaves its own XNNPACK_SOURCE_DIR behind.
  string(FIND "${source}" "${CMAKE_BINARY_DIR}/" inside)
  if(inside EQUAL 0)
    set(source "")
  endif()
  if(source AND NOT EXISTS "${source}/include/xnnpack.h")
    message(FATAL_ERROR "XNNPACK_SOURCE_DIR=${source} is no XNNPACK checkout (no include/xnnpack.h): correct or unset it.")
  endif()

  set(features "")
  if(root)
    aidge_xnnpack_import("${root}" includes libraries checkout)
    aidge_xnnpack_check_link("${root}" "${includes}" "${libraries}")
    if(EXISTS "${root}/stamp.json") # a folder of the cache, or a copy of one
      aidge_xnnpack_read_stamp("${root}" commit date features)
    else()
      aidge_xnnpack_version("${checkout}" commit date)
    endif()
    set(origin "from XNNPACK_ROOT")
    set(place "${root}")
  else()
    if(source)
      aidge_xnnpack_version("${source}" wanted date)
    endif()
    aidge_xnnpack_find_cached(build "${wanted}")
    if(build)
      aidge_xnnpack_read_stamp("${build}" commit date features)
      aidge_xnnpack_import("${build}" includes libraries checkout)
      set(origin "from the cache")
      set(place "${build}")
    elseif(source)
      aidge_xnnpack_version("${source}" commit date)
      aidge_xnnpack_add("${source}" includes libraries)
      set(origin "built from XNNPACK_SOURCE_DIR")
      set(place "${source}")
    else()
      if(wanted AND NOT AIDGE_XNNPACK_PINNED MATCHES "^${wanted}" AND NOT wanted MATCHES "^${AIDGE_XNNPACK_PINNED}")
        aidge_xnnpack_platform(arch compiler flags)
        aidge_xnnpack_build_command(command)
        message(FATAL_ERROR "AIDGE_XNNPACK_VERSION=${wanted} is not in the cache for ${arch}, ${compiler}. Put it there "
          "or unset AIDGE_XNNPACK_VERSION:\n  ${command} --from debian|DIR")
      endif()
      aidge_xnnpack_fetch(checkout)
      set(commit ${AIDGE_XNNPACK_PINNED})
      set(date ${AIDGE_XNNPACK_PINNED_DATE})
      aidge_xnnpack_add("${checkout}" includes libraries)
      set(origin "fetched from GitHub")
      set(place "${checkout}")
    endif()
  endif()
  if(NOT features)
    aidge_xnnpack_probe(features ${includes})
  endif()

  set(description "${commit} ${date}, ${origin}")
  add_library(aidge_export_xnnpack INTERFACE)
  # SYSTEM: warnings in XNNPACK's headers are not the export's.
  target_include_directories(aidge_export_xnnpack SYSTEM INTERFACE ${includes})
  target_compile_definitions(aidge_export_xnnpack INTERFACE ${features}
    "AIDGE_XNNPACK_DESCRIPTION=\"${description}\"")
  target_link_libraries(aidge_export_xnnpack INTERFACE ${libraries} m pthread)
  set_target_properties(aidge_export_xnnpack PROPERTIES
    AIDGE_XNNPACK_COMMIT "${commit}" AIDGE_XNNPACK_DATE "${date}" AIDGE_XNNPACK_FEATURES "${features}"
    AIDGE_XNNPACK_INCLUDES "${includes}")
  message(STATUS "XNNPACK: ${description} (${place})")
endfunction()

_aidge_xnnpack_provide()
