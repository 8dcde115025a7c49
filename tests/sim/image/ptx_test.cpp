// Bodies of kernels in PTX are checked as a driver's compiler checks them.
#include "sim.hpp"

#include <array>
#include <string>
#include <vector>

using namespace sim_test;

namespace {

const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";

std::string kernel_with(const std::string &statement) {
    return head + R"(
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .func elsewhere(.param .b32 a);
.func (.param .b32 r) here(.param .b32 a) { ret; }
.global .u32 gv[4]; .global .texref image;
.visible .entry k(.param .u64 p, .param .u32 n) {
    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .b16 %h<5>;
    .reg .f64 %d<4>; .reg .u32 first, second;
    .shared .u32 sh[8];
)" + statement +
           "\nret;\n}\n";
}

struct Loaded {
    CUresult status;
    std::string log;
};

Loaded load(const std::string &text) {
    std::array<char, 1000> log{};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
    CUmodule module = nullptr;
    const CUresult status = driver().cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
    if (status == CUDA_SUCCESS) {
        ok(driver().cuModuleUnload(module));
    }
    return {status, log.data()};
}

struct Mistake {
    const char *statement, *text; // what the log says
};

} // namespace

TEST_CASE("a mistake in a kernel's body fails with INVALID_PTX and its line") {
    const Mistake mistakes[] = {
        {"mov.u32 %r1, ;", "Parsing error near ';': syntax error"},
        {"mov.u32 %r1 %r2;", "Parsing error near '%r2': syntax error"},
        {"mov.u32 %r1;", "Arguments mismatch for instruction 'mov'"},
        {"mov.u32 %r1, %r2, %r3;", "Arguments mismatch for instruction 'mov'"},
        {"mov.u32 %r99, 1;", "Unknown symbol '%r99'"},
        {"mov.u32 %r1, nowhere;", "Unknown symbol 'nowhere'"},
        {"mov.u32 %r1, %tid.q;", "Unknown vector selector: 'q'"},
        {"mov.u32 %tid.x, 1;", "Arguments mismatch for instruction 'mov'"},
        {"mov.u32 %r1, %clock64;", "Arguments mismatch for instruction 'mov'"},
        {"mov.f32 %f1, first;", "Arguments mismatch for instruction 'mov'"},
        {"mov.b64 %rd1, {%r1, %h1};", "Arguments mismatch for instruction 'mov'"},
        {"add.u32 %r1, %r2;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 %r1, %r2, %f3;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 %r1, %r2, %rd3;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 %r1, %r2, 1.5;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 %r1, %tid.x, 1;", "Arguments mismatch for instruction 'add'"},
        {"add.s32 %r1, %r2, -%r3;", "Arguments mismatch for instruction 'add'"},
        {"add.s32 1, %r1, %r2;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 _, %r1, %r2;", "Arguments mismatch for instruction 'add'"},
        {"add %r1, %r2, %r3;", "Unexpected instruction types specified for 'add'"},
        {"add.u32.u32 %r1, %r2, %r3;", "Unexpected instruction types specified for 'add'"},
        {"add.sat.u32 %r1, %r2, %r3;", "Illegal modifiers '.sat.u32' for instruction 'add'"},
        {"add.rn.rz.f32 %f1, %f2, %f3;", "Illegal modifiers"},
        {"mul.u32 %r1, %r2, %r3;", "Illegal modifiers"},
        {"mul.wide.u32 %r1, %r2, %r3;", "Arguments mismatch for instruction 'mul'"},
        {"cvt.f32.u32 %f1, %r1;", "Illegal modifiers"},
        {"cvt.u32.u64 %h1, %rd1;", "Arguments mismatch for instruction 'cvt'"},
        {"setp.lt.b32 %p1, %r1, %r2;", "Illegal modifiers"},
        {"setp.lt.u32 %r1, %r2, %r3;", "Arguments mismatch for instruction 'setp'"},
        {"ld.global.u32 %r1, %rd1;", "Arguments mismatch for instruction 'ld'"},
        {"ld.global.u32 %r1, [%r2];", "Arguments mismatch for instruction 'ld'"},
        {"ld.global.u32 %r1, [p];", "Arguments mismatch for instruction 'ld'"},
        {"ld.const.u32 %r1, [gv];", "Arguments mismatch for instruction 'ld'"},
        {"ld.global.u32 %r1, [%rd1+];", "Parsing error near ']': syntax error"},
        {"ld.global.v2.u32 %r1, [%rd1];", "Arguments mismatch for instruction 'ld'"},
        {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", "Arguments mismatch for instruction 'ld'"},
        {"bra nowhere;", "Unknown symbol 'nowhere'"},
        {"{ inside: } bra inside;", "Unknown symbol 'inside'"},
        {"twice: twice:", "Duplicate definition of label 'twice'"},
        {".reg .b32 %r1;", "Duplicate definition of variable '%r1'"},
        {"@%r1 ret;", "Predicate expression expected"},
        {"@%p9 ret;", "Unknown symbol '%p9'"},
        {"frob.u32 %r1;", "Not a name of any known instruction: 'frob'"},
        {"call nowhere, (%r1);", "Unknown symbol 'nowhere'"},
        {"call here, (%r1);", "Call has wrong number of parameters"},
        {"call elsewhere, (%r1);", "Unresolved extern function 'elsewhere'"},
        {"mov.u32 %r1, 1 / 0;", "Constant expression has division by zero"},
        {"mov.u32 %r1, -1 / (-2 + 2);", "Constant expression has division by zero"},
        {"mov.u32 %r1, !1.5;", "Integer constant expression expected"},
        {"mov.f32 %f1, 1.5 + 2;", "Integer constant expression expected"},
        {"mov.f32 %f1, -0f3F800000;", "Parsing error near '0f3F800000': syntax error"},
    };
    for (const Mistake &mistake : mistakes) {
        INFO(mistake.statement);
        const Loaded loaded = load(kernel_with(mistake.statement));
        CHECK(loaded.status == CUDA_ERROR_INVALID_PTX);
        CHECK(loaded.log.find(mistake.text) != std::string::npos);
        CHECK((loaded.log.find("line 13") != std::string::npos ||
               loaded.log.find("Unresolved") != std::string::npos));
    }
}

TEST_CASE("what PTX permits loads") {
    for (const char *statement : {
             "add.f32.rn %f1, %f2, %f3;",
             "ld.u32.global %r1, [%rd1];",
             "ld.global.u8 %rd3, [%rd1];",
             "ld.global.f32 %r1, [%rd1];",
             "mov.u32 %r1, -(4 * 2 + 1) << 3;",
             "mov.u32 %r1, -1+2;",
             "mov.u32 %r1, 4 / (-1+2 == 1 ? 2 : 0);",
             "mov.u32 %r1, 1 / (1 < 2 && 2 >= 2 && !(1 != 1) || 0);",
             "mov.f32 %f1, -1.5 + 2.0 * 3.0;",
             "mov.b32 %r1, 0f3F800000;",
             "mov.b32 {%h1, _}, %r1;",
             "mov.u16 %h1, %tid.x;",
             "mov.u64 %rd1, gv+8;",
             "ld.u32 %r1, [gv]; st.u32 [sh+4], %r1; atom.add.u32 %r1, [gv], %r2;",
             "setp.lt.and.u32 %p1|%p2, %r1, %r2, !%p2;",
             "atom.global.add.u32 _, [%rd1], %r2;",
             "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
             "add.u32 first, second, 077;",
             "bra after; { after: } after:",
             "{ bra after; } after:",
             "{ .reg .b32 %r1; add.u32 %r1, %r2, 0b101; }",
             "{ .param .b32 r, a; st.param.b32 [a], %r1; call (r), here, (a); ld.param.b32 %r2, "
             "[r]; }",
             ".reg .v4 .f32 %v; ld.global.v4.f32 %v, [%rd1]; mov.f32 %f1, %v.x;",
             "list: .branchtargets list_a, list_b; brx.idx %r1, list; list_a: list_b:",
         }) {
        INFO(statement);
        const Loaded loaded = load(kernel_with(statement));
        CHECK(loaded.status == CUDA_SUCCESS);
        CHECK(loaded.log.empty());
    }
}

TEST_CASE("wrong operands of textures, matrices, asynchronous copies and barriers are found") {
    // Names of instructions, and operands of each that ptxas 13.0 refuses.
    const struct {
        const char *name;
        std::vector<const char *> operands;
    } mistakes[] = {
        {"tex.2d.v4.u32.f32",
         {"{%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}]", "{%r1,%r2,%r3}, [%rd1, {%f5,%f6}]",
          "%r1, [%rd1, {%f5,%f6}]", "{%r1,%r2,%r3,%r4}, [%rd1, {%f5}]",
          "{%r1,%r2,%r3,%r4}, [%rd1, {%f5,%f6,%f7}]", "{%r1,%r2,%r3,%r4}, [%r1, {%f5,%f6}]",
          "{%r1,%r2,%r3,%r4}, [gv, {%f5,%f6}]", "{%r1,%r2,%r3,%r4}, [%rd1]",
          "{%r1,%r2,%r3,%r4}, [%rd1, {%h1,%h2}]", "{%r1,%r2,%r3,%r4}, %rd1, {%f5,%f6}"}},
        {"tex.1d.v4.f32.s32", {"{%f1,%f2,%f3,%f4}, [image, {%f5}]"}},
        {"tex.level.2d.v4.f32.f32",
         {"{%f1,%f2,%f3,%f4}, [image, {%f5,%f6}]", "{%f1,%f2,%f3,%f4}, [image, {%f5,%f6}], 1"}},
        {"tex.grad.2d.v4.f32.f32", {"{%f1,%f2,%f3,%f4}, [image, {%f5,%f6}], {%f7,%f8}"}},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
         {"{%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8}",
          "{%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r5,%r6}, {%f5,%f6,%f7,%f8}",
          "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5}, {%f5,%f6,%f7,%f8}",
          "{%f1,%f2,%f3,%f4}, {%f1,%f2,%f3,%f4}, {%r5,%r6}, {%f5,%f6,%f7,%f8}",
          "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}",
          "{%rd1,%rd2,%rd3,%rd4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8}"}},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
         {"{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4}"}},
        {"wmma.load.a.sync.aligned.row.m16n16k16.f16",
         {"{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, %rd1, 16",
          "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], %rd2"}},
        {"cp.async.cg.shared.global",
         {"[%r1], [%rd1], 16, %rd2", "[%r1], [%rd1], 16, %f1", "[%r1], [%rd1]",
          "[%r1], [%rd1], %r2", "%r1, %rd1, 16", "[%f1], [%rd1], 16"}},
        {"cp.async.cg.shared.global.L2::cache_hint",
         {"[%r1], [%rd1], 16", "[%r1], [%rd1], 16, %r2"}},
        {"cp.async.wait_group", {"%r1", "", "1, 2"}},
        {"cp.async.wait_all", {"0"}},
        {"mbarrier.init.shared.b64",
         {"[%r1]", "%r1, 1", "[%r1], %rd1", "[%r1], 1, 2", "[gv], %f1"}},
        {"mbarrier.arrive.shared.b64", {"%r1, [%r2]", "%rd1, [%r2], %rd2", "[%r1]"}},
        {"mbarrier.test_wait.shared.b64", {"%r1, [%r2], %rd1", "%p1, [%r1], %r2", "%p1, [%r1]"}},
        {"set.lt.u32.f32",
         {"%rd1, %f1, %f2", "%f1, %f2, %f3", "%r1, %d1, %f2", "%r1, %f1", "%r1, 1, %f2",
          "5, %f1, %f2"}},
        {"set.lt.and.u32.f32", {"%r1, %f1, %f2", "%r1, %f1, %f2, %r1"}},
        {"szext.clamp.u32", {"%rd1, %r1, %r2", "%r1, %r2"}},
        {"fns.b32", {"%r1, %r2, %r3", "%rd1, %r1, %r2, %r3"}},
        {"list: .branchtargets here_a; here_a: brx.idx", {"%rd1, list", "%r1", "%r1, %r2"}},
    };
    for (const auto &[name, operands] : mistakes) {
        for (const char *each : operands) {
            const std::string statement = std::string(name) + " " + each + ";";
            INFO(statement);
            const Loaded loaded = load(kernel_with(statement));
            CHECK(loaded.status == CUDA_ERROR_INVALID_PTX);
            CHECK(loaded.log.find("Arguments mismatch for instruction") != std::string::npos);
        }
    }
    for (const char *modifiers : {"set.lt.u32.b32", "set.lo.u32.s32", "set.ftz.lt.u32.f64"}) {
        INFO(modifiers);
        CHECK(load(kernel_with(std::string(modifiers) + " %r1, %r2, %r3;")).status ==
              CUDA_ERROR_INVALID_PTX);
    }
}

TEST_CASE("right operands of textures, matrices, asynchronous copies and barriers load") {
    for (const char *statement : {
             "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [image, {%f5,%f6}];",
             "tex.2d.v4.f32.f32 {%f1,_,_,%f4}|%p1, [%rd1, {%f5,%f6,%f7,%f8}];",
             "tex.1d.v4.s32.s32 {%r1,%r2,%r3,%r4}, [%rd1, {%tid.x}];",
             "tex.a2d.v4.u32.f32 {%r1,%r2,%r3,%r4}, [%rd1, {%r5,%f6,%f7,%f7}];",
             "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, %rd2, {%f5,%f6}], {1,2}, %f7;",
             "tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [image, {%f5,%f6}], 0f00000000;",
             "tex.grad.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [image, {%f5}], {%f6}, {%f7};",
             ".reg .v4 .f32 %v; tex.3d.v4.f32.f32 %v, [image, %v];",
             "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, "
             "{%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,0f00000000,%r1};",
             "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1,_}, {%r1,%r2}, {%r5}, "
             "{%r1,%r2};",
             "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, "
             "{%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};",
             "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%r1,%r2,%r3,%r4}, "
             "{%f1,%f2,%f3,%f4}, {first,%r6}, {%r1,%r2,%r3,%r4};",
             "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%d3}, {%rd1}, {%d1,%d2};",
             "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, "
             "{%r3,%r4}, {%f5,%f6,%f7,%f8}, %r5, 0;",
             "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, "
             "[%rd1], %r1;",
             "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%d1}, [%rd1];",
             "cp.async.ca.shared.global [%r1], [%rd2], 8, %r3;",
             "cp.async.cg.shared.global.L2::128B [sh+16], [gv], 16, !%p1;",
             "cp.async.cg.shared.global.L2::cache_hint [%rd1], [%rd2+32], 16, %rd3;",
             "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd2], 16, %r1, %rd3;",
             "cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_all;",
             "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];",
             "mbarrier.init.shared.b64 [%r1+8], %r2;",
             "mbarrier.init.b64 [%rd1], 1; mbarrier.inval.b64 [sh];",
             "mbarrier.arrive.shared.b64 _, [%r1];",
             "mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 1;",
             "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;",
             "mbarrier.pending_count.b64 %r1, %rd1;",
             "set.lt.u32.f32 %r1, 1.0, %r3;",
             "set.eq.f32.b64 %f1, %rd2, 5;",
             "set.num.xor.s32.f64 first, %d1, %d2, !%p1;",
             "set.lt.ftz.f16.f16 %h1, %h2, %h3;",
             "set.lo.u32.u16 %r1, %h2, %h3;",
             "szext.wrap.s32 %r1, %r2, 5;",
             "fns.b32 %r1, -1, 0, -1;",
             "list: .branchtargets list_a; brx.idx.uni 0, list; list_a:",
         }) {
        INFO(statement);
        const Loaded loaded = load(kernel_with(statement));
        CHECK(loaded.status == CUDA_SUCCESS);
        CHECK(loaded.log.empty());
    }
}

TEST_CASE("statements of newer versions and targets load") {
    std::string text = kernel_with("");
    text.replace(0, head.size(), ".version 8.6\n.target sm_90\n.address_size 64\n");
    const std::size_t end = text.rfind("ret;");
    for (const char *statement : {
             "fence.proxy.async;",
             "fence.proxy.async.shared::cta;",
             "fence.proxy.alias;",
             "fence.proxy.tensormap::generic.release.gpu;",
             "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;",
             "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
             "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.or.b32 [%r1], "
             "%r2, [%r3];",
             "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r1], {%r2, %r3}, "
             "[%r4];",
             "{ .reg .b128 %x; ld.global.b128 %x, [%rd1]; st.global.b128 [%rd1], %x; }",
             "mov.pred %p1, %is_explicit_cluster;",
         }) {
        INFO(statement);
        const Loaded loaded = load(std::string(text).insert(end, statement));
        CHECK(loaded.status == CUDA_SUCCESS);
        CHECK(loaded.log.empty());
    }
}

TEST_CASE("the linker resolves functions of other inputs") {
    const std::string caller = head + ".extern .func f();\n.visible .entry k() { call f; ret; }\n";
    const std::string callee = head + ".visible .func f() { ret; }\n";
    CHECK(load(caller).status == CUDA_ERROR_INVALID_PTX);
    for (const bool complete : {true, false}) {
        CUlinkState link = nullptr;
        ok(driver().cuLinkCreate(0, nullptr, nullptr, &link));
        std::string input = caller;
        ok(driver().cuLinkAddData(link, CU_JIT_INPUT_PTX, input.data(), input.size() + 1, "a", 0,
                                  nullptr, nullptr));
        input = callee;
        if (complete) {
            ok(driver().cuLinkAddData(link, CU_JIT_INPUT_PTX, input.data(), input.size() + 1, "b",
                                      0, nullptr, nullptr));
        }
        void *image = nullptr;
        std::size_t size = 0;
        CHECK((driver().cuLinkComplete(link, &image, &size) == CUDA_SUCCESS) == complete);
        ok(driver().cuLinkDestroy(link));
    }
}

TEST_CASE("text that nests deeply or asks for much is refused") {
    std::string choices;
    for (int i = 0; i < 100000; ++i) {
        choices += "1?1:";
    }
    for (const std::string &statement :
         {std::string("mov.u32 %r1, ") + std::string(100000, '-') + "1;",
          std::string("mov.u32 %r1, ") + std::string(100000, '(') + "1;", std::string(100000, '{'),
          "mov.u32 %r1, " + choices + "1;", std::string(".reg .b32 %x<4000000000>;")}) {
        CHECK(load(kernel_with(statement)).status == CUDA_ERROR_INVALID_PTX);
    }
}
