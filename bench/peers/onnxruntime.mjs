// ONNX Runtime as a peer: times a model as `mpm bench` times ours, and prints one JSON line.
//   node onnxruntime.mjs MODEL.onnx [THREADS=2] [ROUNDS=20] [SIZE=512]
// Needs onnxruntime-node (npm install --ignore-scripts onnxruntime-node); all graph optimisations are on.
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.cwd(), "package.json"));
const ort = require("onnxruntime-node");
const [model, threads = "2", rounds = "20", side = "512"] = process.argv.slice(2);
if (!model) {
  console.error("usage: node onnxruntime.mjs MODEL.onnx [THREADS] [ROUNDS] [SIZE]");
  process.exit(2);
}

const session = await ort.InferenceSession.create(model, {
  graphOptimizationLevel: "all",
  intraOpNumThreads: Number(threads),
  interOpNumThreads: 1,
});
const size = Number(side);
const input = new Float32Array(3 * size * size);
let seed = 1;
for (let i = 0; i < input.length; ++i) {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  input[i] = seed / 1073741824 - 1;
}
const feeds = { [session.inputNames[0]]: new ort.Tensor("float32", input, [1, 3, size, size]) };
const times = [];
for (let round = -3; round < Number(rounds); ++round) {
  const start = performance.now();
  await session.run(feeds);
  if (round >= 0) times.push(performance.now() - start);
}
times.sort((a, b) => a - b);
const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
console.log(JSON.stringify({
  peer: "onnxruntime-node " + require("onnxruntime-node/package.json").version,
  model: path.basename(model), threads: Number(threads),
  ms: { median: at(0.5), p10: at(0.1), p90: at(0.9) },
}));
