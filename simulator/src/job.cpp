// SPDX-License-Identifier: EPL-2.0
#include "job.hpp"

#include "config.hpp"
#include "diagnose.hpp"
#include "zone.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace xmedia_sim {
namespace {

thread_local bool device_thread = false;

void pause(std::uint64_t microseconds) {
    if (microseconds > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    }
}

Bytes read_device(std::uint64_t physical, std::uint32_t size, bool empty) {
    Bytes bytes(size);
    std::uint64_t there = size;
    const std::uint8_t* memory = empty ? nullptr : Zone::instance().device(physical, &there);
    if (memory != nullptr && there > 0) {
        std::memcpy(bytes.data(), memory, static_cast<std::size_t>(there));
    }
    return bytes;
}

void write_device(std::uint64_t physical, const Bytes& bytes) {
    std::uint64_t there = bytes.size();
    std::uint8_t* memory = Zone::instance().device(physical, &there);
    if (memory != nullptr && there > 0) {
        std::memcpy(memory, bytes.data(), static_cast<std::size_t>(there));
        Zone::instance().written(physical, there);
    }
}

void fill_device(std::uint64_t physical, std::uint64_t size, std::uint8_t value) {
    std::uint64_t there = size;
    std::uint8_t* memory = Zone::instance().device(physical, &there);
    if (memory != nullptr && there > 0) {
        std::memset(memory, value, static_cast<std::size_t>(there));
        Zone::instance().written(physical, there);
    }
}

}  // namespace

Device::~Device() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) {
        if (thread_.get_id() == std::this_thread::get_id()) {
            crash("the context is released inside a callback, where its thread cannot end");
        }
        thread_.join();
    }
}

void Device::submit(Job job) {
    const std::lock_guard lock(mutex_);
    const auto behind =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Job& other) { return other.priority < job.priority; });
    waiting_.insert(behind, std::move(job));
    if (!thread_.joinable()) {
        thread_ = std::thread([this] { loop(); });
    }
    changed_.notify_all();
}

bool Device::is_this_thread() {
    return device_thread;
}

void Device::loop() {
    device_thread = true;
    for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty()) {
            return;
        }
        Job job = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        job.event->running();
        const bool completed = run(job);
        for (const Range& range : job.flush_after) {
            Zone::instance().flush(range.address, range.size);
        }
        const std::shared_ptr<Event> event = std::move(job.event);
        // Before anyone hears of the end: the graph's things may go with it.
        job = Job{};
        event->finish(completed);
    }
}

bool Device::run(const Job& job) {
    for (std::uint32_t item = 0; item < job.batch; ++item) {
        ++job.record->jobs;
        if (!run_item(job, item)) {
            ++job.record->failed;
            return false;
        }
    }
    return true;
}

bool Device::run_item(const Job& job, std::uint32_t item) {
    const Model& model = *job.model;
    const std::uint64_t input = job.input.base + std::uint64_t{item} * model.input_bytes;
    const std::uint64_t output = job.output.base + std::uint64_t{item} * model.output_bytes;
    std::vector<Bytes> inputs;
    std::vector<Bytes> outputs;
    for (std::size_t i = 0; i < model.inputs.size(); ++i) {
        const Tensor& tensor = model.input(i);
        inputs.push_back(read_device(input + tensor.offset, tensor.size, job.input.empty));
    }
    if (config().strict) {
        fill_device(job.workspace, model.work_bytes, fresh_byte);
        for (std::size_t i = 0; i < model.outputs.size() && !job.output.empty; ++i) {
            fill_device(output + model.output(i).offset, model.output(i).size, fresh_byte);
        }
    }
    for (std::size_t i = 0; i < model.outputs.size(); ++i) {
        const Tensor& tensor = model.output(i);
        outputs.push_back(read_device(output + tensor.offset, tensor.size, job.output.empty));
    }
    pause(config().latency_us);
    if (fault(Fault::hang)) {
        note("job of %s never ends", model.path.c_str());
        for (;;) {
            pause(1000000);  // the runtime has no timeout for a job that runs
        }
    }
    if (fault(Fault::timeout)) {
        pause(std::uint64_t{config().poll_us} * 100);
        note("job of %s given up: it did not start", model.path.c_str());
        return false;
    }
    if (fault(Fault::abort)) {
        note("job of %s aborted; device reset", model.path.c_str());
        return false;
    }
    job.reference->run(inputs, outputs);
    // The NPU keeps intermediate results there: inputs that live in it do not survive.
    fill_device(job.workspace, model.work_bytes, clobbered_byte);
    for (std::size_t i = 0; i < model.outputs.size() && !job.output.empty; ++i) {
        write_device(output + model.output(i).offset, outputs[i]);
    }
    return true;
}

}  // namespace xmedia_sim
