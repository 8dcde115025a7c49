// CUDA_VISIBLE_DEVICES: the devices that a process sees with each form of the list, or the status
// of cuInit.
#include "../other_process.hpp"
#include "row.hpp"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace record::QUESTIONS {

namespace {

constexpr const char *variable = "CUDA_VISIBLE_DEVICES";

struct Machine {
    static constexpr int most = 16;
    int count = 0;
    CUuuid uuids[most] = {};

    int place_of(CUdevice device) const {
        CUuuid uuid{};
        d.cuDeviceGetUuid(&uuid, device);
        for (int place = 0; place < count; ++place) {
            if (std::memcmp(&uuid, &uuids[place], sizeof uuid) == 0) {
                return place;
            }
        }
        return -1;
    }

    std::string uuid(int place) const {
        std::string text = "GPU-";
        for (std::size_t i = 0; i < sizeof(CUuuid); ++i) {
            char digits[4] = "";
            std::snprintf(digits, sizeof digits, "%02x",
                          static_cast<unsigned char>(uuids[place].bytes[i]));
            text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
        }
        return text;
    }
};

// Another process looks, so that this one has not called cuInit.
Machine look() {
    unsetenv(variable);
    const Other other = fork_off([](const Other &parent) {
        Machine machine;
        if (d.cuInit(0) == CUDA_SUCCESS) {
            d.cuDeviceGetCount(&machine.count);
        }
        for (int i = 0; i < machine.count && i < Machine::most; ++i) {
            d.cuDeviceGetUuid(&machine.uuids[i], i);
        }
        parent.send(machine);
    });
    const Machine machine = other.receive<Machine>();
    waitpid(other.process, nullptr, 0);
    return machine;
}

class Lists {
  public:
    explicit Lists(Machine machine) : machine_(machine) {}

    // The name stands for a list that differs from machine to machine. Prints the status of
    // cuInit, or the places of the devices that the process sees.
    void ask_about(const std::string &name, const std::string &list) const {
        row_apart("list [" + name + "]", [&](Row &row) {
            setenv(variable, list.c_str(), 1);
            const CUresult status = d.cuInit(0);
            if (status != CUDA_SUCCESS) {
                row.add(status);
                return;
            }
            int count = -1;
            d.cuDeviceGetCount(&count);
            for (int device = 0; device < count; ++device) {
                row.append("place " + std::to_string(machine_.place_of(device)));
            }
        });
    }
    void ask_about(const std::string &list) const { ask_about(list, list); }

  private:
    Machine machine_;
};

std::string in_capitals(std::string text) {
    for (char &letter : text) {
        letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    return text;
}

constexpr char unknown[] = "GPU-01234567-89ab-cdef-0123-456789abcdef";

} // namespace

SECTION("visible_devices_by_index") {
    const Lists lists(look());
    for (const char *list : {"",
                             " ",
                             ",",
                             ",0",
                             " ,0",
                             "0",
                             " 0",
                             "\t0",
                             "0 ",
                             " 0 ",
                             "0,",
                             "0, ",
                             "0,,",
                             "0,,0",
                             "0, ,0",
                             "0,0",
                             "0, 0",
                             "0 ,0",
                             "0 0",
                             "0,0,0",
                             "0,0,-1",
                             "0,00",
                             "0,+0",
                             "0,0x0",
                             "0,0x",
                             "+0",
                             "-0",
                             "00",
                             "0x0",
                             "x0",
                             "0x1",
                             "0x",
                             "0abc",
                             "0abc,0",
                             "0.0",
                             "0.5",
                             "1e0",
                             "0;0",
                             "0:0",
                             "0-1",
                             "0/0",
                             "\"0\"",
                             "'0'",
                             "-1",
                             "-1,0",
                             "-1,0,0",
                             "0,-1",
                             "0,-1,0",
                             "0,-1,x",
                             "-2",
                             "99",
                             "99,0",
                             "99,0,0",
                             "0,99",
                             "0,99,0",
                             "0,99,99",
                             "99,99",
                             "x",
                             "x,0",
                             "0,x",
                             "0,x,0",
                             "all",
                             "none",
                             "void",
                             "NoDevFiles",
                             "2147483648",
                             "4294967296",
                             "4294967295",
                             "18446744073709551616",
                             "-4294967296",
                             "99999999999999999999999999"}) {
        lists.ask_about(list);
    }
}

SECTION("visible_devices_by_uuid") {
    const Machine machine = look();
    const Lists lists(machine);
    const std::string all = machine.uuid(0), digits = all.substr(4), most = all.substr(0, 39),
                      part = all.substr(0, 12), short_part = all.substr(0, 5);
    lists.ask_about("uuid", all);
    lists.ask_about("uuid,uuid", all + "," + all);
    lists.ask_about("uuid,part of it", all + "," + part);
    lists.ask_about("part", part);
    lists.ask_about("short part", short_part);
    lists.ask_about("all but one", most);
    lists.ask_about("part,part", part + "," + part);
    lists.ask_about("part,short part", part + "," + short_part);
    lists.ask_about("GPU-");
    lists.ask_about("GPU");
    lists.ask_about("GPU-,GPU-");
    lists.ask_about("GPU-x");
    lists.ask_about("GPU-0");
    lists.ask_about("digits alone", digits);
    lists.ask_about("capitals", in_capitals(all));
    lists.ask_about("small gpu-", "gpu-" + digits);
    lists.ask_about("space uuid", " " + all);
    lists.ask_about("uuid space", all + " ");
    lists.ask_about("uuid comma", all + ",");
    lists.ask_about("comma uuid", "," + all);
    lists.ask_about("uuid,,uuid", all + ",," + all);
    lists.ask_about("uuid, uuid", all + ", " + all);
    lists.ask_about("uuid and a digit", all + "0");
    lists.ask_about("uuid and x", all + "x");
    lists.ask_about("part and x", part + "x");
    lists.ask_about("uuid/0", all + "/0");
    lists.ask_about("uuid:0", all + ":0");
    lists.ask_about("0,uuid", "0," + all);
    lists.ask_about("uuid,0", all + ",0");
    lists.ask_about("uuid,1", all + ",1");
    lists.ask_about("uuid,-1", all + ",-1");
    lists.ask_about("-1,uuid", "-1," + all);
    lists.ask_about("99,uuid", "99," + all);
    lists.ask_about("0,-1,uuid", "0,-1," + all);
    lists.ask_about("unknown", unknown);
    lists.ask_about("unknown,uuid", unknown + ("," + all));
    lists.ask_about("unknown,0", unknown + std::string(",0"));
    lists.ask_about("0,unknown", std::string("0,") + unknown);
    lists.ask_about("uuid,unknown", all + "," + unknown);
    lists.ask_about("uuid,unknown,uuid", all + "," + unknown + "," + all);
    lists.ask_about("unknown,unknown", unknown + std::string(",") + unknown);
    lists.ask_about("MIG-", "MIG-");
    lists.ask_about("MIG-digits", "MIG-" + digits);
    lists.ask_about("MIG-uuid/0/0", "MIG-" + all + "/0/0");
    lists.ask_about("MIG-digits,uuid", "MIG-" + digits + "," + all);
    lists.ask_about("uuid,MIG-digits", all + ",MIG-" + digits);
    lists.ask_about("0,MIG-digits", "0,MIG-" + digits);
    lists.ask_about("MIG-digits,0", "MIG-" + digits + ",0");
    lists.ask_about("0:0 of MIG", "0:0");
}

// Whether a process can correct the list: cuInit, cuInit again, cuDeviceGetCount, cuDeviceGet,
// cuDriverGetVersion, and without the variable cuInit and cuDeviceGetCount.
SECTION("visible_devices_corrected") {
    for (const char *list : {"-1", "0,0", "0"}) {
        row_apart(std::string("list [") + list + "]", [&](Row &row) {
            int count = -1, version = 0;
            CUdevice device = 0;
            setenv(variable, list, 1);
            row.add(d.cuInit(0));
            row.add(d.cuInit(0));
            row.add(d.cuDeviceGetCount(&count));
            row.add(d.cuDeviceGet(&device, 0));
            row.add(d.cuDriverGetVersion(&version));
            unsetenv(variable);
            row.add(d.cuInit(0));
            const CUresult status = d.cuDeviceGetCount(&count);
            row.add(status, count);
        });
    }
}

// The count, cudaGetLastError, cudaSetDevice, cudaFree, cudaGetLastError, and the count without the
// variable.
SECTION("visible_devices_of_the_runtime") {
    const std::string uuid = look().uuid(0);
    for (const auto &[name, list] : {std::pair<const char *, std::string>{"-1", "-1"},
                                     {"", ""},
                                     {"0,0", "0,0"},
                                     {"0", "0"},
                                     {"uuid,uuid", uuid + "," + uuid},
                                     {"x", "x"}}) {
        row_apart(std::string("list [") + name + "]", [&, &text = list](Row &row) {
            int count = -1;
            setenv(variable, text.c_str(), 1);
            cudaError_t status = r.cudaGetDeviceCount(&count);
            row.add(status, count);
            row.add(r.cudaGetLastError());
            row.add(r.cudaSetDevice(0));
            row.add(r.cudaFree(nullptr));
            row.add(r.cudaGetLastError());
            unsetenv(variable);
            status = r.cudaGetDeviceCount(&count);
            row.add(status, count);
        });
    }
}

namespace two_devices {

constexpr char section_prefix[] = "two devices ";

SECTION("visible_devices") {
    const Machine machine = look();
    if (machine.count < 2) {
        note("two devices", "not asked here");
        return;
    }
    const Lists lists(machine);
    for (const char *list :
         {"1",      "0,1",    "1,0",    "1,1",    "1,0,1",  "0,1,0",  "0,1,1",     "1,0,0",
          "0,1,-1", "0,-1,1", "1,-1,1", "1,x,1",  "1,99,1", "0,99,1", "1,,0",      " 1 , 0 ",
          "+1,0",   "01",     "0x1",    "1abc,0", "1 0",    "1;0",    "4294967297"}) {
        lists.ask_about(list);
    }
    const std::string zero = machine.uuid(0), one = machine.uuid(1);
    std::size_t common = 0;
    while (zero[common] == one[common]) {
        ++common;
    }
    const std::string both = zero.substr(0, common), prefix = zero.substr(0, common + 1);
    lists.ask_about("uuid of 1", one);
    lists.ask_about("both uuids", zero + "," + one);
    lists.ask_about("both uuids, 1 first", one + "," + zero);
    lists.ask_about("uuid of 1 twice", one + "," + one);
    lists.ask_about("uuids of 0, 1, 0", zero + "," + one + "," + zero);
    lists.ask_about("common prefix", both);
    lists.ask_about("common prefix, uuid of 1", both + "," + one);
    lists.ask_about("uuid of 1, common prefix", one + "," + both);
    lists.ask_about("shortest prefix of 0", prefix);
    lists.ask_about("shortest prefix of 0, uuid of 1", prefix + "," + one);
    lists.ask_about("0, uuid of 1", "0," + one);
    lists.ask_about("0, uuid of 0", "0," + zero);
    lists.ask_about("1, uuid of 0", "1," + zero);
    lists.ask_about("uuid of 0, 1", zero + ",1");
    lists.ask_about("uuid of 1, 1", one + ",1");
    lists.ask_about("uuid of 1, unknown, uuid of 0", one + "," + unknown + "," + zero);
    lists.ask_about("uuid of 1, unknown, uuid of 1", one + "," + unknown + "," + one);
}

} // namespace two_devices

} // namespace record::QUESTIONS
