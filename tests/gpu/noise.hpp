// The contents of frames: every word differs from frame to frame, so that an old frame or a part of
// it is not mistaken for the new one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gpu_test {

// Frame n is words n, n + 1, ... of one sequence.
class Noise {
  public:
    // For frames of `words` words, starting with frame 0.
    Noise(std::size_t words, unsigned int frames) : words_(words), all_(words + frames) {
        for (std::size_t index = 0; index < all_.size(); ++index) {
            all_[index] = static_cast<unsigned int>(index) * factor;
        }
    }
    std::span<const unsigned int> all() const { return all_; }
    std::span<const unsigned int> frame(unsigned int number) const {
        return all().subspan(number, words_);
    }

  private:
    static constexpr unsigned int factor = 0x9e3779b1; // odd: no two words of a sequence are equal

    std::size_t words_;
    std::vector<unsigned int> all_;
};

// The same as a kernel: to[i] is word first + i, for i < count.
using WriteNoise = void(unsigned int *to, unsigned int count, unsigned int first);
inline constexpr char noise_ptx[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry write_noise(.param .u64 to, .param .u32 count, .param .u32 first)
{
    .reg .pred %beyond;
    .reg .b32 %block, %width, %thread, %index, %count, %word;
    .reg .b64 %to, %offset;
    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %index, %block, %width, %thread;
    ld.param.u32 %count, [count];
    setp.ge.u32 %beyond, %index, %count;
    @%beyond bra done;
    ld.param.u32 %word, [first];
    add.u32 %word, %word, %index;
    mul.lo.u32 %word, %word, 0x9e3779b1;
    ld.param.u64 %to, [to];
    cvta.to.global.u64 %to, %to;
    mul.wide.u32 %offset, %index, 4;
    add.u64 %to, %to, %offset;
    st.global.u32 [%to], %word;
done:
    ret;
}
)";

} // namespace gpu_test
