// SPDX-License-Identifier: EPL-2.0
#include "common/report.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "common/cpu.hpp"
#include "common/json.hpp"

namespace export_common {
namespace {

template <typename T>
void print_as(const void* data, std::size_t count) {
    const T* const values = static_cast<const T*>(data);
    for (std::size_t i = 0; i < count; ++i) {
        if constexpr (std::is_floating_point_v<T>) {
            std::printf("%f ", static_cast<double>(values[i]));
        } else if constexpr (std::is_signed_v<T>) {
            std::printf("%lld ", static_cast<long long>(values[i]));
        } else {
            std::printf("%llu ", static_cast<unsigned long long>(values[i]));
        }
    }
}

void print_first(DataType type, const void* data, std::size_t count) {
    switch (type) {
        case DataType::float32: return print_as<float>(data, count);
        case DataType::float64: return print_as<double>(data, count);
        case DataType::int8: return print_as<std::int8_t>(data, count);
        case DataType::int16: return print_as<std::int16_t>(data, count);
        case DataType::int32: return print_as<std::int32_t>(data, count);
        case DataType::int64: return print_as<std::int64_t>(data, count);
        case DataType::uint8: return print_as<std::uint8_t>(data, count);
        case DataType::uint16: return print_as<std::uint16_t>(data, count);
        case DataType::uint32: return print_as<std::uint32_t>(data, count);
        case DataType::uint64: return print_as<std::uint64_t>(data, count);
    }
}

double milliseconds_per_run(const LayerProfile& layer, const Measurement& measurement) {
    return static_cast<double>(layer.nanoseconds) / 1e6 / static_cast<double>(measurement.iterations);
}

double total_milliseconds(const Table<LayerProfile>& layers, const Measurement& measurement) {
    double total = 0.0;
    for (const LayerProfile& layer : layers) {
        total += milliseconds_per_run(layer, measurement);
    }
    return total;
}

Table<LayerProfile> layers_of(const Model& model) {
    Table<LayerProfile> layers;
    layers.items = model.layers();
    layers.count = model.layer_count();
    return layers;
}

double share(double part, double total) {
    return total > 0.0 ? part / total : 0.0;
}

}  // namespace

Summary summarize(std::vector<double>& milliseconds) {
    // Plain pointers: with iterators GCC for ARM prints a page of notes on its ABI.
    std::sort(milliseconds.data(), milliseconds.data() + milliseconds.size());
    const std::size_t half = milliseconds.size() / 2;
    const bool odd = milliseconds.size() % 2 != 0;
    const double median = odd ? milliseconds[half] : (milliseconds[half - 1] + milliseconds[half]) / 2;
    return {milliseconds.front(), median, milliseconds.back()};
}

void print_values(const Model& model, const std::vector<const void*>& outputs) {
    constexpr std::size_t limit = 100;
    for (std::size_t i = 0; i < model.outputs.count; ++i) {
        const TensorInfo& output = model.outputs[i];
        const std::size_t count = output.shape.elements();
        std::printf("%s:\n", output.symbol);
        print_first(output.type, outputs[i], std::min(count, limit));
        if (count >= limit) {
            std::printf("Output %zu is too large and has been truncated.\n", i);
        }
        std::printf("\n");
    }
}

void print_times(const Measurement& measurement) {
    std::printf("init    %.4f ms\n", measurement.init_ms);
    std::printf("forward min %.4f ms, median %.4f ms, max %.4f ms (%zu runs after %zu for warming up)\n",
                measurement.run.min, measurement.run.median, measurement.run.max, measurement.iterations,
                measurement.warmup);
}

void print_layers(const Model& model, const Measurement& measurement) {
    const Table<LayerProfile> layers = layers_of(model);
    int name_width = 5;
    int type_width = 8;
    int library_width = 7;
    for (const LayerProfile& layer : layers) {
        name_width = std::max(name_width, static_cast<int>(std::strlen(layer.name)));
        type_width = std::max(type_width, static_cast<int>(std::strlen(layer.type)));
        library_width = std::max(library_width, static_cast<int>(std::strlen(layer.library)));
    }
    std::printf("%-*s  %-*s  %-*s  %10s  %6s\n", name_width, "layer", type_width, "operator", library_width, "library",
                "ms", "share");
    const double total = total_milliseconds(layers, measurement);
    for (const LayerProfile& layer : layers) {
        const double ms = milliseconds_per_run(layer, measurement);
        std::printf("%-*s  %-*s  %-*s  %10.4f  %5.1f%%\n", name_width, layer.name, type_width, layer.type,
                    library_width, layer.library, ms, 100.0 * share(ms, total));
    }
    std::printf("%-*s  %-*s  %-*s  %10.4f\n", name_width, "total", type_width, "", library_width, "", total);
}

void print_json(const Model& model, const Measurement& measurement) {
    char vector_unit[32];
    describe_vector_unit(vector_unit, sizeof vector_unit);
    Json json(stdout);
    json.begin_object();
    json.text("model", model.name);
    json.text("target", model.target);
    json.text("xnnpack", model.xnnpack);
    json.text("vector", vector_unit);
    json.number("init_ms", measurement.init_ms);
    json.count("iterations", measurement.iterations);
    json.number("min_ms", measurement.run.min);
    json.number("median_ms", measurement.run.median);
    json.number("max_ms", measurement.run.max);
    json.count("arena_bytes", model.arena_bytes);
    json.begin_array("layers");
    const Table<LayerProfile> layers = layers_of(model);
    const double total = total_milliseconds(layers, measurement);
    for (const LayerProfile& layer : layers) {
        json.begin_object();
        json.text("name", layer.name);
        json.text("operator", layer.type);
        json.text("library", layer.library);
        if (measurement.profiled) {
            const double ms = milliseconds_per_run(layer, measurement);
            json.number("ms", ms);
            json.number("share", share(ms, total));
        }
        json.end_object();
    }
    json.end_array();
    json.begin_array("outputs");
    for (const TensorInfo& output : model.outputs) {
        json.begin_object();
        json.text("name", output.name);
        json.begin_array("shape");
        for (std::size_t i = 0; i < output.shape.rank(); ++i) {
            json.count(nullptr, output.shape[i]);
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
    json.end_object();
    std::printf("\n");
}

}  // namespace export_common
