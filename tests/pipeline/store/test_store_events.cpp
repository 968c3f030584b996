#include <gtest/gtest.h>

#include "pipeline/store/store.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

using test::TempFolder;

TEST(Store, ListsAndRemovesEventsOfEverySource) {
    TempFolder folder;
    const std::string path = folder / "m.sqlite";
    {
        Store store(path);
        const auto street = store.source("street"), yard = store.source("yard");
        store.addEvent(street, {Millis(1000), "alert", "bright: 1"});
        store.addEvent(yard, {Millis(3000), "night", ""});
        store.addEvent(street, {Millis(2000), "alert", "bright: 2"});
    }
    Store store(path);
    const std::vector<StoredEvent> all = store.newestEvents(10);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].source, "yard");
    EXPECT_EQ(all[0].event.kind, "night");
    EXPECT_EQ(all[1].event.text, "bright: 2");
    EXPECT_EQ(store.newestEvents(1).size(), 1u);
    store.removeEvents({all[1].id, all[0].id, 12345});
    const std::vector<StoredEvent> left = store.newestEvents(10);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].id, all[2].id);
    EXPECT_EQ(left[0].event.time.count(), 1000);
}

}  // namespace
}  // namespace mpm::pipeline
