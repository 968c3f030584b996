#include "models/onnx/convert.hpp"

#include <cerrno>
#include <future>

#include <mpm/mpm.hpp>

#include "base/pending_file.hpp"
#include "base/printable.hpp"
#include "models/onnx/bind.hpp"
#include "models/onnx/fused/fuse.hpp"
#include "models/onnx/fused/insert.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/layers/layers.hpp"
#include "models/onnx/match/match.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/metadata.hpp"
#include "models/onnx/verify/prove.hpp"

namespace mpm::models {
namespace {

void checkMethodOfFile(const std::string& method) {
    try {
        usualBlocks(method, 1);
    } catch (const cv::Exception& error) {
        throw Refusal("the attribute method of MpmEncoder: " + error.err);
    }
}

bool hasRoom(const Graph& graph, const Shape& input) {
    try {
        checkRoom(peakBytes(graph, infer(graph, inputsFor(graph, input))), "the proof");
        return true;
    } catch (const BudgetError&) {
        return false;
    }
}

// `own`: inputs that the export accepts. `wanted`: the requested inputs, if they differ from `own`.
struct Bindings {
    Binding own;
    std::optional<Binding> wanted;

    const Binding& last() const { return wanted ? *wanted : own; }
};

// If withBatch() can change an export of a single image to the requested batch, returns the changed graph.
std::optional<Graph> forBatch(const Graph& graph, const ConvertOptions& options) {
    const bool single =
        !graph.inputs.empty() && !graph.inputs[0].dims.empty() && graph.inputs[0].dims[0] == 1;
    if (options.batch < 2 || !single || isFused(graph)) return std::nullopt;
    std::vector<std::string> unused;
    ConvertOptions more = options;
    more.batch = 1;
    const Binding own = bindInputs(graph, more, unused);
    if (!accepts(graph, own)) return std::nullopt;
    more.batch = options.batch;
    more.size = own.size;
    return withBatch(graph, own, bindInputs(graph, more, unused));
}

Bindings bindingsOf(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes) {
    const Binding asked = bindInputs(graph, options, notes);
    if (isFused(graph) || accepts(graph, asked)) return {asked, std::nullopt};
    // A graph that computes all sizes from the image is converted at the requested size.
    if (followsSize(graph, asked) && hasRoom(graph, asked.inputs[0].shape())) return {asked, std::nullopt};
    ConvertOptions plain = options;
    plain.size = {};
    plain.batch = 0;
    Binding own;
    std::vector<std::string> unused;  // notes to drop, because the size may not be the final size
    try {
        own = bindInputs(graph, plain, unused);
    } catch (const Refusal&) {
        return {asked, std::nullopt};  // no size works: the requested size will cause the error message
    }
    if (own.inputs[0].shape() == asked.inputs[0].shape()) return {asked, std::nullopt};
    return {own, asked};
}

void checkForm(const ConvertOptions& options, const Bindings& bindings) {
    if (options.form == Form::Layers && bindings.last().inputs[0].shape()[0] != 1)
        throw Refusal("the layers form takes one image at a time: export with batch 1, or use --form fused");
}

void checkFused(const Graph& graph, const ConvertOptions& options) {
    const Port& port = graph.inputs[0];
    const bool otherSize =
        !options.size.empty() && (port.dims[2] != options.size.height || port.dims[3] != options.size.width);
    if (otherSize || (options.batch > 0 && port.dims[0] != options.batch)) {
        throw Refusal(
            "the model is converted already and keeps its size and batch: convert the original export "
            "instead");
    }
    if (options.form == Form::Layers)
        throw Refusal("the model is of the fused form already: convert the original export instead");
}

// Returns the image shapes for the proof. If the batch is dynamic, returns shapes for batch 1 and batch 3. If
// memory does not suffice for batch 3, tries batch 2.
List<Shape> proofInputs(const Graph& graph, const Binding& binding) {
    if (!binding.dynamicBatch) return {binding.inputs[0].shape()};
    List<Shape> inputs{binding.inputAt(1)};
    for (int batch : {3, 2}) {
        if (!hasRoom(graph, binding.inputAt(batch))) continue;
        inputs.push_back(binding.inputAt(batch));
        break;
    }
    return inputs;
}

// Reads the export, chooses inputs, finds encoders, writes the fused or layers form, and verifies the file.
class Converter {
public:
    Converter(const std::string& input, const ConvertOptions& options, PendingFile& file)
        : m_input(input), m_options(options), m_file(file) {}

    Conversion run() {
        write();
        verify();
        return std::move(m_conversion);
    }

private:
    Graph readInput(std::vector<std::string>* notes = nullptr) const {
        std::vector<std::string> ignored;
        Graph graph = readModel(m_input);
        setInputs(graph, m_options.set);
        std::vector<std::string>& said = notes ? *notes : ignored;
        keepOutputs(graph, m_options.outputs, said);
        fixScalarInputs(graph, said);
        return graph;
    }

    // Writes the file. The graphs are local variables, so they are freed before the proof, in which OpenCV
    // needs the memory.
    void write() {
        std::future<std::string> digest = std::async(std::launch::async, sha256OfFile, m_input);
        const Graph given = readInput(&m_conversion.notes);
        const std::optional<Graph> more = forBatch(given, m_options);
        const Graph& original = more ? *more : given;
        m_given = &given;
        const Bindings bindings = bindingsOf(original, m_options, m_conversion.notes);
        checkForm(m_options, bindings);
        m_original = &original;
        m_own = &bindings.own;
        m_conversion.size = bindings.last().size;
        m_conversion.batch =
            bindings.last().dynamicBatch ? 0 : static_cast<int>(bindings.last().inputs[0].shape()[0]);
        const bool fusedAlready = isFused(original);
        if (fusedAlready) checkFused(original, m_options);
        // Each segment of a chain averages rows by a merge map. Standard operators cannot do this, so the
        // layers form supports no chains.
        State state = understandOrExplain(original, m_options, bindings.own, m_options.form == Form::Fused);
        chooseDecoders(state, fusedAlready);
        chooseMerging(original, state.match.blocks());
        if (!fusedAlready) warnAboutMerging(state.match);
        if (!fusedAlready && m_options.form == Form::Fused && bindings.wanted) {
            state = writeOtherSize(std::move(state), *bindings.wanted, digest.get());
            return;
        }
        summarise(state, m_conversion);
        if (fusedAlready) {
            updateFused(state, m_merging);
        } else if (m_options.form == Form::Layers) {
            checkLayers(state, bindings);
            writeLayers(state, m_conversion.schedule);
        } else {
            fuse(state, m_merging);
            finishFused(state);
        }
        save(state.graph, digest.get(), m_file.path());
    }

    void chooseMerging(const Graph& original, int blocks) {
        const bool chosen = m_options.blocks || m_options.method;
        const bool keeps = !chosen && (isFused(original) || isLayers(original));
        m_merging = keeps ? mergingOf(original) : mergingFor(m_options, blocks);
        checkMethodOfFile(m_merging.method);
        m_conversion.method = m_merging.method;
        m_conversion.schedule = m_merging.schedule;
        m_conversion.byDefault = !chosen && !keeps;
    }

    // Adds a note if nothing merges, or if attention outside of the encoder never merges.
    void warnAboutMerging(const Match& match) {
        const List<std::string>& outside = match.outside;
        const bool none = m_options.method && *m_options.method == "none";
        if (!m_options.blocks && !none && m_conversion.schedule.empty()) {
            const int blocks = match.blocks();
            m_conversion.notes.push_back("nothing merges: the encoder has only " + std::to_string(blocks) +
                                         (blocks == 1 ? " block" : " blocks") + "; name some with --blocks");
        }
        if (outside.empty()) return;
        m_conversion.notes.push_back("attention at " + std::to_string(outside.size()) +
                                     (outside.size() == 1 ? " place" : " places") +
                                     " outside of the encoder never merges: " + outside.front());
    }

    void chooseDecoders(State& state, bool fusedAlready) {
        if (!m_options.decoder) return;
        if (m_options.decoder == Decoder::Full) {
            if (fusedAlready && followsMap(state))
                throw Refusal(
                    "the model is converted already and its decoder computes merged tokens: convert the "
                    "original export instead");
            return;
        }
        try {
            mergeDecoders(state, m_conversion.notes);
        } catch (const Refusal& refusal) {
            if (!fusedAlready) throw;
            throw Refusal("the model is converted already, and its decoder cannot be understood (" +
                          std::string(refusal.what()) + "): convert the original export instead");
        }
        if (fusedAlready) connectMaps(state);
    }

    static void checkLayers(const State& state, const Bindings& bindings) {
        if (state.match.backbone()->windows.present())
            throw Refusal("the layers form has no windows of attention: use --form fused");
        if (bindings.wanted) {
            throw Refusal(
                "the layers form takes one image of the export's own size: export with batch 1 at the size "
                "wanted");
        }
    }

    // Writes the model at a size or batch at which the export does not run. The proof therefore uses a second
    // file: the same conversion at the export's size. The two files differ only in positions and shapes.
    // Returns the state of the second file.
    State writeOtherSize(State own, const Binding& wanted, const std::string& digest) {
        fuse(own, m_merging);
        State state = own;
        try {
            changeImageSize(state, wanted, m_conversion.notes);
        } catch (const Refusal& refusal) {
            if (wanted.size != m_own->size) throw;
            throw Refusal("the batch of the export cannot be changed (" + std::string(refusal.what()) +
                          "): export the model with that batch, or with a dynamic one");
        }
        summarise(state, m_conversion);
        finishFused(state);
        finishFused(own);
        prepareProof(own.graph);
        save(state.graph, digest, m_file.path());
        m_ownSize.emplace(m_file.folder());
        if (!m_ownSize->isOpen()) m_file.refuse(errno);
        save(own.graph, digest, m_ownSize->path());
        return own;
    }

    void save(Graph& graph, const std::string& digest, const std::string& path) {
        if (!m_prover) prepareProof(graph);
        if (m_options.allClasses) checkClasses(m_options, graph);
        m_labels = labelsOf(graph);
        const bool chooses = domainVersion(graph) > 2 && m_labels.labels < 0;
        describeBoxes(m_options, chooses, *m_original, m_prover->results(), m_own->size, graph);
        if (!m_conversion.pixels.known) {
            const bool detector = choosesByScore(*m_original) || graph.metadata.count("mpm.detections");
            m_conversion.pixels = pixelsFor(m_options, m_original->metadata, detector, m_conversion.notes);
        }
        nameClassesAsExported(graph);
        if (m_labels.labels >= 0 && m_options.form == Form::Layers)
            throw Refusal("labels come with --form fused only");
        if (m_labels.labels >= 0) outputLabels(graph);
        if (m_labels.classes >= 0) nameClasses(graph.outputs[m_labels.classes].dims[2] - 1, graph);
        m_conversion.detections = describeDetections(graph.metadata);
        writeMetadata(m_options, m_conversion, digest, graph);
        writeModel(graph, path, m_file.name());
        if (!m_options.detections.empty()) checkDetections(path);
    }

    // Throws if modelInfo(), which programs call before they read the network, rejects the metadata.
    static void checkDetections(const std::string& path) try {
        modelInfo(path);
    } catch (const cv::Exception& error) {
        const size_t expected = error.err.rfind("expected ");
        CV_Error(cv::Error::StsOutOfRange,
                 "--detections: " + error.err.substr(expected == std::string::npos ? 0 : expected));
    }

    LabelOutputs labelsOf(const Graph& graph) const {
        if (!m_options.labels) return {};
        if (const auto queries = queryOutputs(graph))
            return {static_cast<int>(queries->masks), static_cast<int>(queries->classes)};
        return {graph.outputs[0].type == Type::Float ? 0 : -1, -1};
    }

    // Runs the input model for the proof. If this model has the fused form already, OpenCV runs it from a
    // temporary file in the output's folder.
    void prepareProof(const Graph& converted) {
        const Graph& original = *m_original;
        const List<Shape> inputs = proofInputs(original, *m_own);
        if (!isFused(original)) {
            m_prover.emplace(*m_given, "", inputs, converted, m_given != m_original);
            m_prover->setReread([this] { return readInput(); });
            return;
        }
        const ScratchFile copy(m_file.folder());
        if (!copy.isOpen()) m_file.refuse(errno);
        writeModel(original, copy.path(), m_file.name());
        m_prover.emplace(original, copy.path(), inputs, converted);
    }

    void verify() {
        const Proof proof = m_prover->check(m_ownSize ? m_ownSize->path() : m_file.path(), m_labels,
                                            m_options.form == Form::Layers);
        if (m_ownSize) checkRuns(m_file.path());
        m_conversion.proof = proof.means + (m_ownSize ? ", at the export's own size" : "");
        m_conversion.provedBatches = proof.batches;
        m_conversion.error = proof.worst;
        if (proof.unstable > 0) {
            m_conversion.notes.push_back(
                "rounding decides about the export's results at " + std::to_string(proof.unstable) +
                " of the random inputs (a threshold, as of masked attention): proved at another one");
        }
        for (const auto& [name, places] : proof.nearTies) {
            m_conversion.notes.push_back(name + ": the scores at " + std::to_string(places) +
                                         " of the chosen places are closer than rounding, so that their "
                                         "order may differ from the export's");
        }
        for (const std::string& name : proof.flat) {
            m_conversion.notes.push_back("output '" + printable(name, 200) +
                                         "' is one value everywhere on random input, so its proof is weak");
        }
    }

    const std::string& m_input;
    const ConvertOptions& m_options;
    PendingFile& m_file;
    Conversion m_conversion;
    Merging m_merging;
    // These pointers are valid only within write(). m_original: the export with the requested batch; m_given:
    // the export as read from the file.
    const Graph* m_original = nullptr;
    const Graph* m_given = nullptr;
    const Binding* m_own = nullptr;
    LabelOutputs m_labels;
    std::optional<ScratchFile> m_ownSize;  // used only if the export does not run at the requested size
    std::optional<Prover> m_prover;
};

Conversion convertWithin(const std::string& input, const std::string& output, const ConvertOptions& given) {
    ConvertOptions options = given;
    if (options.form == Form::Layers) options.batch = 1;
    if (options.form == Form::Layers && options.decoder == Decoder::Merged)
        throw Refusal("decoders follow merging with --form fused only");
    PendingFile file(output, Access::Umask);
    Conversion conversion = Converter(input, options, file).run();
    file.keep();
    return conversion;
}

}  // namespace

Conversion convertModel(const std::string& input, const std::string& output, const ConvertOptions& options) {
    const Job job({options.maxMemory, options.maxSeconds});
    return refusing([&] { return convertWithin(input, output, options); });
}

}  // namespace mpm::models
