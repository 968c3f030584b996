#include "pipeline/measure/detector/evaluation.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <opencv2/imgcodecs.hpp>

#include "base/printable.hpp"
#include "base/random.hpp"
#include "base/stopwatch.hpp"
#include "pipeline/dataset/dataset.hpp"
#include "pipeline/measure/eval_settings.hpp"
#include "pipeline/measure/reuse_counts.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/segment/names.hpp"

namespace mpm::pipeline {

namespace {

using Kind = MeasureError::Kind;

constexpr int kBest = 300;  // largest number of detections of an image; COCO's limits are lower

CocoTruth readTruth(const std::string& path, bool masks) {
    try {
        return readCocoTruth(path, masks);
    } catch (const cv::Exception& error) {
        throw MeasureError(Kind::Input, "--annotations: " + error.err);
    }
}

/// Thrown if an image cannot be used. The evaluation then leaves out the image.
class BadFile : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

cv::Mat readBelow(const std::string& root, const CocoImage& image) {
    try {
        return imageAt(image.pathBelow(root), cv::IMREAD_COLOR);
    } catch (const cv::Exception& error) {
        if (error.code == cv::Error::StsNoMem) throw;  // not the image's fault, so the run ends
        throw BadFile(error.err);
    }
}

RunLengths wholeMask(const Detection& one, cv::Size size) {
    cv::Mat whole = cv::Mat::zeros(size, CV_8U);
    const cv::Rect place(std::min(cvRound(one.box.x), size.width - one.mask.cols),
                         std::min(cvRound(one.box.y), size.height - one.mask.rows), one.mask.cols,
                         one.mask.rows);
    one.mask.copyTo(whole(place));
    return runLengths(whole);
}

}  // namespace

DetectionEvaluation::DetectionEvaluation(const DetectionRequest& request, Open open,
                                         const std::string& modelSha256)
    : m_request(request), m_open(std::move(open)), m_truth(readTruth(request.annotations, request.masks)) {
    const Network network = m_open(request.precisions.front());
    if (!network.detects())
        throw MeasureError(Kind::Input, network.name() +
                                            ": gives no boxes (it has no metadata mpm.detections); "
                                            "convert it with --detections");
    if (request.masks && network.info().detections->masks.empty())
        throw MeasureError(Kind::Input, network.name() + ": gives no masks; leave out --iou segm");
    checkClasses(network.info());
    m_own = ownMergingOf(network);
    for (const Method& method : expanded(request.methods, network.encoder().blocks()))
        for (const Precision precision : request.precisions) {
            if (method.reuses() && request.shard.count > 1)
                throw MeasureError(Kind::Settings,
                                   "method \"" + method.text +
                                       "\" takes the frames of a clip one by one; leave out --shard");
            m_rows.push_back({method.in(m_own), precision});
        }
    for (size_t i = 0; i < m_truth.objects.size(); ++i)
        m_objectsOf[m_truth.objects[i].image].push_back(i);
    chooseImages();
    describe(network, modelSha256);
}

/// Chooses the images, sorted by id. If a method reuses, sorts them by file name, because the images must
/// then be consecutive frames.
void DetectionEvaluation::chooseImages() {
    m_images = m_truth.imageIds();
    const auto file = [&](std::int64_t id) -> const std::string& { return m_truth.images.at(id).file; };
    if (std::any_of(m_rows.begin(), m_rows.end(), [](const Row& row) { return row.method.reuses(); }))
        std::stable_sort(m_images.begin(), m_images.end(),
                         [&](std::int64_t a, std::int64_t b) { return file(a) < file(b); });
    if (m_request.limit > 0 && m_images.size() > size_t(m_request.limit)) m_images.resize(m_request.limit);
}

void DetectionEvaluation::describe(const Network& network, const std::string& modelSha256) {
    m_head = {{"mpm_detection_counts", 1}};
    m_head.update(toJson(headOf(network)));
    m_head["model_sha256"] = modelSha256;
    m_head["schedule"] = m_own.blocks;
    m_head["dataset"] = "coco";
    m_head["iou_type"] = m_request.masks ? "segm" : "bbox";
    std::string ids;
    for (const std::int64_t id : m_images)
        ids += std::to_string(id) + ' ' + m_truth.images.at(id).file + '\n';
    m_head["images"] = m_images.size();
    m_head["images_hash"] = seedOf(ids);
    m_head["shard"] = {m_request.shard.index, m_request.shard.count};
    m_head["categories"] = Json::array();
    for (const auto& [id, name] : m_truth.categories)
        m_head["categories"].push_back({{"id", id}, {"name", name}});
    m_head["settings"] = Json::array();
    for (const Row& row : m_rows)
        m_head["settings"].push_back({{"method", row.method.shortName()},
                                      {"parameters", row.method.text},
                                      {"precision", precisionName(row.precision)}});
}

/// Maps each class to the category of the same name, or of the same id if the model has no names.
void DetectionEvaluation::checkClasses(const mpm::ModelInfo& info) {
    const bool named =
        std::any_of(info.labels.begin(), info.labels.end(), [](const auto& n) { return !n.empty(); });
    for (const auto& [id, name] : m_truth.categories) {
        if (!named) {
            if (id >= 0 && id < 1'000'000) m_categoryOf[static_cast<int>(id)] = id;
            continue;
        }
        for (size_t label = 0; label < info.labels.size(); ++label)
            if (info.labels[label] == name) m_categoryOf[static_cast<int>(label)] = id;
    }
    if (m_categoryOf.empty())
        throw MeasureError(Kind::Input, "--annotations: no category of " + printable(m_request.annotations) +
                                            " is a class of the model, by name" + (named ? "" : " or id") +
                                            "; name the data set that the model was trained on");
}

std::vector<std::int64_t> DetectionEvaluation::imagesOfShard() const {
    std::vector<std::int64_t> ids;
    for (size_t index = m_request.shard.index - 1; index < m_images.size(); index += m_request.shard.count)
        ids.push_back(m_images[index]);
    return ids;
}

static void warmUp(Segmenter& segmenter) {
    segmenter.segment(cv::Mat(segmenter.network().info().size, CV_8UC3, cv::Scalar::all(128)));
    segmenter.encoder().forget();
}

DetectionCounts DetectionEvaluation::measure(int row, std::int64_t image, const cv::Mat& pixels,
                                             Segmenter& segmenter, const FlopsCounter& flops,
                                             const Sink& save) const {
    DetectionCounts counts;
    counts.row = row;
    counts.image = image;
    const Segmentation found = segmenter.segment(pixels);
    counts.ms = found.networkMs;
    counts.device = deviceName(found.device);
    counts.precision = precisionName(found.precision);
    counts.tokens = found.tokens.tokens;
    counts.schedule = scheduleOf(found.tokens, flops.cost().mapGiven);
    counts.operations = flops.image(found.tokens, m_rows[row].method.reducer(m_own));
    counts.reuse.add(found.tokens.reuse);
    std::vector<CocoObject> truth, objects;
    if (const auto at = m_objectsOf.find(image); at != m_objectsOf.end())
        for (const size_t index : at->second)
            truth.push_back(m_truth.objects[index]);
    for (const Detection& one : found.detections) {
        const auto category = m_categoryOf.find(one.label);
        if (category == m_categoryOf.end()) continue;
        CocoObject object;
        object.image = image;
        object.category = category->second;
        object.box = one.box;
        object.score = one.score;
        object.area = object.box.area();
        if (m_request.masks) {
            object.mask = wholeMask(one, pixels.size());
            object.area = static_cast<double>(object.mask.area());
        }
        if (save) save(object);
        objects.push_back(std::move(object));
    }
    counts.matches = cocoMatches({image}, m_truth.categoryIds(), truth, objects);
    return counts;
}

DetectionEval DetectionEvaluation::run(const std::function<ModelCost(const Network&)>& costOf,
                                       const Watcher& watcher, const Sink& save) {
    DetectionEval eval;
    std::optional<CountsFile> file;
    if (!m_request.countsFile.empty()) file.emplace(m_request.countsFile, m_head, detectionsInto(eval));
    std::set<std::pair<int, std::int64_t>> done;
    for (const DetectionCounts& one : eval.counts)
        done.emplace(one.row, one.image);
    const bool begun = std::any_of(done.begin(), done.end(), [](const auto& one) { return one.first == 0; });
    if (save && begun)
        throw MeasureError(Kind::Input, printable(m_request.countsFile) +
                                            " has images whose detections were not kept: give another file "
                                            "of counts, or no --save-detections");
    const std::vector<std::int64_t> images = imagesOfShard();
    const auto total = static_cast<std::int64_t>(images.size() * m_rows.size());
    std::int64_t progress = 0;
    for (size_t row = 0; row < m_rows.size(); ++row) {
        Segmenter segmenter(m_open(m_rows[row].precision));
        applyMethod(segmenter.network(), m_rows[row].method, m_own);
        DetectionChoice choice;
        choice.threshold = -1;
        choice.most = kBest;
        segmenter.setDetections(choice);
        const FlopsCounter flops(costOf(segmenter.network()));
        warmUp(segmenter);
        for (const std::int64_t image : images) {
            if (watcher.stopped())
                throw MeasureError(Kind::Failed, "stopped; with --counts it can be continued");
            watcher.report(progress++, total);
            if (done.count({static_cast<int>(row), image}) > 0) continue;
            DetectionCounts counts;
            try {
                const cv::Mat pixels = readBelow(m_request.root, m_truth.images.at(image));
                counts = measure(int(row), image, pixels, segmenter, flops, row == 0 ? save : Sink());
            } catch (const BadFile& error) {
                if (row == 0) watcher.warn(error.what() + std::string("; left out"));
                counts.row = static_cast<int>(row);
                counts.image = image;
                counts.leftOut = m_truth.images.at(image).file;
            }
            if (file) file->add(toJson(counts));
            eval.counts.push_back(std::move(counts));
        }
    }
    if (file) file->finish();
    watcher.report(total, total);
    eval.head = m_head;
    return eval;
}

}  // namespace mpm::pipeline
