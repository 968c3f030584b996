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
let seed = 1;
const noise = (count) => Float32Array.from({ length: count }, () => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 1073741824 - 1;
});
// Inputs of other than an image have their shapes in the model.
const shapeOf = (index) => {
  const shape = session.inputMetadata?.[index]?.shape ?? [];
  const fixed = shape.length > 0 && shape.every((extent) => typeof extent === "number" && extent > 0);
  return fixed ? shape : [1, 3, Number(side), Number(side)];
};
const feeds = {};
session.inputNames.forEach((name, index) => {
  const shape = shapeOf(index);
  feeds[name] = new ort.Tensor("float32", noise(shape.reduce((a, b) => a * b, 1)), shape);
});
const times = [];
let cpu = Infinity;  // least processor time: all that counts on a busy machine
for (let round = -3; round < Number(rounds); ++round) {
  const start = performance.now(), before = process.cpuUsage();
  await session.run(feeds);
  const used = process.cpuUsage(before);
  cpu = Math.min(cpu, (used.user + used.system) / 1000);
  if (round >= 0) times.push(performance.now() - start);
}
times.sort((a, b) => a - b);
const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
console.log(JSON.stringify({
  peer: "onnxruntime-node " + require("onnxruntime-node/package.json").version,
  model: path.basename(model), threads: Number(threads),
  ms: { median: at(0.5), p10: at(0.1), p90: at(0.9), cpu },
}));
