// Expects that wrong use is rejected with a message that names the mistake.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

namespace mpm::test {

template <class Call>
void expectRefusal(const Call& call, const std::string& word) {
    try {
        call();
        FAIL() << "was accepted; expected a refusal that says " << word;
    } catch (const cv::Exception& e) {
        EXPECT_NE(e.err.find(word), std::string::npos) << e.err;
    }
}

}  // namespace mpm::test
