// SPDX-License-Identifier: EPL-2.0
// Compiles when every feature defined (as 0 or 1) is stated truly for the XNNPACK headers at hand.
#include <cstddef>

#include <xnnpack.h>

#ifdef AIDGE_XNN_HAS_CODE_CACHE
xnn_status code_cache(xnn_operator_t* op) {
    return xnn_create_fully_connected_nc_f32(1, 1, 1, 1, nullptr, nullptr, 0.0f, 1.0f, 0,
#if AIDGE_XNN_HAS_CODE_CACHE
                                             nullptr,
#endif
                                             nullptr, op);
}
#endif

#ifdef AIDGE_XNN_HAS_WORKSPACE_ALIGNMENT
xnn_status workspace_alignment(xnn_operator_t op, std::size_t* size) {
    return xnn_reshape_convolution2d_nhwc_f32(op, 1, 1, 1, size,
#if AIDGE_XNN_HAS_WORKSPACE_ALIGNMENT
                                              size,
#endif
                                              nullptr, nullptr, nullptr);
}
#endif

#ifdef AIDGE_XNN_UNARY_HAS_LUT
xnn_status lut(xnn_operator_t* op) {
    return xnn_create_unary_elementwise_nc(xnn_unary_clamp, xnn_datatype_fp32, xnn_datatype_fp32, nullptr,
#if AIDGE_XNN_UNARY_HAS_LUT
                                           nullptr,
#endif
                                           nullptr, nullptr, 0, op);
}
#endif

#ifdef AIDGE_XNN_BILINEAR_HAS_DATATYPE
xnn_status bilinear(xnn_operator_t* op) {
#if AIDGE_XNN_BILINEAR_HAS_DATATYPE
    return xnn_create_resize_bilinear2d_nhwc(xnn_datatype_fp32, 1, 1, 0, op);
#else
    return xnn_create_resize_bilinear2d_nhwc_f32(1, 1, 0, op);
#endif
}
#endif

#ifdef AIDGE_XNN_AVGPOOL_HAS_WORKSPACE
xnn_status average_pooling(xnn_operator_t op, const float* input, float* output) {
    return xnn_setup_average_pooling2d_nhwc_f32(op,
#if AIDGE_XNN_AVGPOOL_HAS_WORKSPACE
                                                nullptr,
#endif
                                                input, output);
}
#endif

#if defined(AIDGE_XNN_HAS_GELU) && AIDGE_XNN_HAS_GELU
constexpr xnn_unary_operator gelu = xnn_unary_gelu;
#endif

#if defined(AIDGE_XNN_HAS_APPROXGELU) && AIDGE_XNN_HAS_APPROXGELU
constexpr xnn_unary_operator approxgelu = xnn_unary_approxgelu;
#endif

#if defined(AIDGE_XNN_HAS_REDUCE_MAX) && AIDGE_XNN_HAS_REDUCE_MAX
constexpr xnn_reduce_operator reduce_max = xnn_reduce_max;
constexpr xnn_reduce_operator reduce_min = xnn_reduce_min;
#endif
