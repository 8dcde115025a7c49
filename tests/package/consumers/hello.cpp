// A program that can run without CUDA and reports whether it is available.
#include <cstdio>

#include <cushim/cushim.hpp>

int main() {
    const CUresult status = cushim::driver().cuInit(0);
    const cushim::LoadReport report = cushim::load_report();
    std::printf("cushim %s, cuInit %d\n", cushim_version(), static_cast<int>(status));
    std::printf("%s\n", report.driver.explanation);
    if (const auto driver = cushim::try_driver(); !driver) {
        std::printf("%s\n", driver.error().message());
    }
    return 0;
}
