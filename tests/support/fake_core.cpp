// The part of a fake library that all rows share: counts, the record, and the results.
#include "fake_control.h"
#include "fake_rows.h"

#include <cstdlib>
#include <cstring>

namespace {

int armed;
fake_record record;

bool is_armed() {
    return __atomic_load_n(&armed, __ATOMIC_RELAXED) != 0;
}

void count_call(unsigned int row) {
    __atomic_fetch_add(&fake_call_counts[row], 1u, __ATOMIC_RELAXED);
}

int status_of(unsigned int row) {
    return fake_forced_status != 0 ? fake_forced_status : fake_rows[row].value;
}

// A call whose arguments do not fit is recorded as truncated, which fails every comparison.
void keep(unsigned int row, unsigned int count, const fake_argument *arguments) {
    record.name = fake_rows[row].name;
    record.count = count;
    record.size = 0;
    for (unsigned int i = 0; i != count && i != FAKE_MAX_ARGUMENTS; ++i) {
        record.sizes[i] = arguments[i].size;
        if (arguments[i].size > FAKE_MAX_BYTES - record.size) {
            return;
        }
        std::memcpy(record.bytes + record.size, arguments[i].bytes, arguments[i].size);
        record.size += arguments[i].size;
    }
}

int version_from(const char *variable, int otherwise) {
    const char *text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : otherwise;
}

bool tell_version(unsigned int row, int reported, int *version, int *status) {
    if (is_armed()) {
        return false;
    }
    count_call(row);
    *status = fake_forced_status;
    if (fake_forced_status == 0 && version != nullptr) {
        *version = reported;
    }
    return true;
}

const char *name_of(unsigned int row) {
    return fake_rows[row].name;
}

unsigned int calls_of(unsigned int row) {
    return __atomic_load_n(&fake_call_counts[row], __ATOMIC_RELAXED);
}

unsigned int answer_of(unsigned int row, unsigned char bytes[FAKE_MAX_RESULT]) {
    const fake_row &known = fake_rows[row];
    const int status = status_of(row);
    switch (known.shape) {
    case FAKE_STATUS:
        std::memcpy(bytes, &status, sizeof status);
        break;
    case FAKE_STRING:
        std::memcpy(bytes, &known.name, sizeof known.name);
        break;
    case FAKE_BYTES:
        fake_fill(row, bytes);
        break;
    case FAKE_NOTHING:
        break;
    }
    return known.size;
}

void arm(int on) {
    __atomic_store_n(&armed, on, __ATOMIC_RELAXED);
}

const fake_record *last() {
    return &record;
}

void reset() {
    arm(0);
    record = fake_record{};
    for (unsigned int row = 0; row != fake_row_count; ++row) {
        __atomic_store_n(&fake_call_counts[row], 0u, __ATOMIC_RELAXED);
    }
}

// Initialised when the library is loaded, before a test can request it.
const fake_control control = {fake_row_count, name_of, calls_of, answer_of, arm, last, reset};

} // namespace

int fake_called(unsigned int row, unsigned int count, const fake_argument *arguments) {
    count_call(row);
    if (is_armed()) {
        keep(row, count, arguments);
    }
    return status_of(row);
}

void fake_fill(unsigned int row, void *result) {
    auto *bytes = static_cast<unsigned char *>(result);
    for (unsigned int i = 0; i != fake_rows[row].size; ++i) {
        bytes[i] = static_cast<unsigned char>(row * 7u + i + 1u);
    }
}

bool fake_driver_version(unsigned int row, int *version, int *status) {
    return tell_version(row, version_from(FAKE_DRIVER_VERSION_VARIABLE, fake_headers_version),
                        version, status);
}

bool fake_runtime_version_reported(unsigned int row, int *version, int *status) {
    const int own = fake_runtime_version != 0 ? fake_runtime_version : fake_headers_version;
    return tell_version(row, version_from(FAKE_RUNTIME_VERSION_VARIABLE, own), version, status);
}

bool fake_name_not_found(unsigned int row, int *status) {
    if (is_armed()) {
        return false;
    }
    count_call(row);
    *status = fake_forced_status != 0 ? fake_forced_status : 500;
    return true;
}

FAKE_EXPORT const fake_control *fake_control_get() {
    return &control;
}
