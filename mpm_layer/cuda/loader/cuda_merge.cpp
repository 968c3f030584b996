// MpmMerge and MpmRestore on a GPU: a merge or a restore without an encoder.
#include <algorithm>
#include <memory>

#include "mpm_layer/cuda/loader/cuda_session.hpp"

namespace mpm::cuda {
namespace {

/// A session of an encoder without blocks, which only merges.
class MergeSession {
public:
    MergeSession(const MpmCudaEntry& entry, int device, const cv::Mat& tokens, int special)
        : m_entry(entry),
          m_images(tokens.size[0]),
          m_tokens(tokens.size[1] - special),
          m_encoder(nullptr, entry.destroy_encoder),
          m_session(nullptr, entry.end) {
        MpmCudaEncoderDescription description{};
        description.dim = tokens.size[2];
        MpmCudaEncoder* encoder = nullptr;
        call(m_entry.create_encoder, device, &description, &encoder);
        m_encoder.reset(encoder);
        MpmCudaInput input{};
        input.options.special_tokens = special;
        input.tokens = tokens.ptr<float>();
        input.images = m_images;
        input.rows_per_image = tokens.size[1];
        input.nearest = chosenNearest();
        input.parallel = onThreads;
        MpmCudaSession* session = nullptr;
        call(m_entry.begin, encoder, &input, &session);
        m_session.reset(session);
    }

    std::vector<MergeMap> maps() {
        const MpmCudaStage stage{};
        call(m_entry.reduce, m_session.get(), &stage);
        MpmCudaTimes times{};
        call(m_entry.finish, m_session.get(), &times);
        std::vector<MergeMap> maps(m_images);
        for (int i = 0; i < m_images; ++i) {
            // Allocates an extra id, because data() of an empty vector may be null.
            maps[i].ids.resize(m_tokens + 1);
            call(m_entry.stage_tokens, m_session.get(), 0, i, &maps[i].clusters);
            call(m_entry.stage_map, m_session.get(), 0, i, maps[i].ids.data());
            maps[i].ids.resize(m_tokens);
        }
        return maps;
    }

    /// Downloads the rows of all images in order, without special tokens.
    void readRows(float* rows) { call(m_entry.read_rows, m_session.get(), rows, nullptr, nullptr); }

private:
    const MpmCudaEntry& m_entry;
    int m_images, m_tokens;
    std::unique_ptr<MpmCudaEncoder, void (*)(MpmCudaEncoder*)> m_encoder;
    std::unique_ptr<MpmCudaSession, void (*)(MpmCudaSession*)> m_session;
};

}  // namespace

void merge(const MpmCudaEntry& entry, int device, const cv::Mat& tokens, int special,
           const PlaceMerged& place) {
    MergeSession session(entry, device, tokens, special);
    const std::vector<MergeMap> maps = session.maps();
    const size_t dim = tokens.size[2];
    size_t total = 0;
    for (const MergeMap& map : maps)
        total += map.clusters;
    std::vector<float> rows(total * dim);
    if (total > 0) session.readRows(rows.data());
    const std::vector<float*> to = place(maps);
    const float* from = rows.data();
    for (size_t i = 0; i < maps.size(); ++i) {
        const size_t values = maps[i].clusters * dim;
        std::copy_n(from, values, to[i]);
        from += values;
    }
}

void restore(const MpmCudaEntry& entry, int device, const cv::Mat& merged, const std::vector<MergeMap>& maps,
             int special, cv::Mat& out) {
    std::vector<int32_t> ids;
    for (const MergeMap& map : maps)
        ids.insert(ids.end(), map.ids.begin(), map.ids.end());
    MpmCudaRestore request{};
    request.merged = merged.ptr<float>();
    request.map = ids.data();
    request.output = out.ptr<float>();
    request.images = merged.size[0];
    request.merged_rows = merged.size[1];
    request.rows = out.size[1];
    request.dim = out.size[2];
    request.special_tokens = special;
    request.parallel = onThreads;
    call(entry.restore, device, &request);
}

}  // namespace mpm::cuda
