// SPDX-License-Identifier: EPL-2.0
// What differs between XNNPACK versions: everything else in this folder is the same for all of them.
// The macros come from the probe in cmake/export_xnnpack.cmake, which compiles against the headers it found;
// xnnpack.h itself carries no version number.
#pragma once

#include <xnnpack.h>

#ifndef AIDGE_XNN_HAS_CODE_CACHE
#error "AIDGE_XNN_HAS_CODE_CACHE is not defined: link the CMake target aidge_export_xnnpack, which probes XNNPACK"
#endif

// Argument of every create function of convolutions and fully connected layers until 2025-05-14.
#if AIDGE_XNN_HAS_CODE_CACHE
#define AIDGE_XNN_CODE_CACHE nullptr,
#else
#define AIDGE_XNN_CODE_CACHE
#endif

// Argument of every reshape function that reports a workspace, until 2025-05-27.
#if AIDGE_XNN_HAS_WORKSPACE_ALIGNMENT
#define AIDGE_XNN_WORKSPACE_ALIGNMENT(alignment) (alignment),
#else
#define AIDGE_XNN_WORKSPACE_ALIGNMENT(alignment)
#endif

// Argument of the unary create function since 2025-05-22.
#if AIDGE_XNN_UNARY_HAS_LUT
#define AIDGE_XNN_UNARY_LUT nullptr,
#else
#define AIDGE_XNN_UNARY_LUT
#endif

// Workspace of average pooling, until 2025-02. The size brings its own comma in front.
#if AIDGE_XNN_AVGPOOL_HAS_WORKSPACE
#define AIDGE_XNN_AVGPOOL_WORKSPACE_SIZE(bytes, alignment) , (bytes), (alignment)
#define AIDGE_XNN_AVGPOOL_WORKSPACE(workspace) (workspace),
#else
#define AIDGE_XNN_AVGPOOL_WORKSPACE_SIZE(bytes, alignment)
#define AIDGE_XNN_AVGPOOL_WORKSPACE(workspace)
#endif

// Bilinear resizing has one function per step for all datatypes since 2025-02, and one per datatype before.
#if AIDGE_XNN_BILINEAR_HAS_DATATYPE
#define AIDGE_XNN_BILINEAR(step) xnn_##step##_resize_bilinear2d_nhwc
#define AIDGE_XNN_BILINEAR_DATATYPE xnn_datatype_fp32,
#else
#define AIDGE_XNN_BILINEAR(step) xnn_##step##_resize_bilinear2d_nhwc_f32
#define AIDGE_XNN_BILINEAR_DATATYPE
#endif

namespace export_xnnpack {

// GELU by its approximation with a hyperbolic tangent, since 2025; invalid before.
#if AIDGE_XNN_HAS_APPROXGELU
constexpr xnn_unary_operator approximate_gelu_operator = xnn_unary_approxgelu;
#else
constexpr xnn_unary_operator approximate_gelu_operator = xnn_unary_invalid;
#endif

// Reduction to the largest and the smallest value, since 2025; invalid before.
#if AIDGE_XNN_HAS_REDUCE_MAX
constexpr xnn_reduce_operator reduce_max_operator = xnn_reduce_max;
constexpr xnn_reduce_operator reduce_min_operator = xnn_reduce_min;
#else
constexpr xnn_reduce_operator reduce_max_operator = xnn_reduce_invalid;
constexpr xnn_reduce_operator reduce_min_operator = xnn_reduce_invalid;
#endif

}  // namespace export_xnnpack
