// Runs one model in ONNX Runtime on the first image of an .npy file and compares its outputs with .npy references.
//   node layers_in_onnxruntime.mjs MODEL.onnx INPUT.npy OUTPUT0.npy [OUTPUT1.npy...]
// Exit status 1 where a difference exceeds 1e-4 of the reference's largest value.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import path from "node:path";

const require = createRequire(path.join(process.cwd(), "package.json"));
const ort = require("onnxruntime-node");

function readNpy(file) {
  const bytes = readFileSync(file);
  const head = bytes.readUInt16LE(8);
  const text = bytes.toString("latin1", 10, 10 + head);
  if (!text.includes("'<f4'")) throw new Error(`${file}: not f32`);
  const shape = text.match(/\(([^)]*)\)/)[1].split(",").filter((s) => s.trim()).map(Number);
  const data = bytes.buffer.slice(bytes.byteOffset + 10 + head, bytes.byteOffset + bytes.length);
  return { shape, values: new Float32Array(data) };
}

const [model, inputFile, ...references] = process.argv.slice(2);
const input = readNpy(inputFile);
const shape = [1, ...input.shape.slice(1)];
const image = input.values.slice(0, shape.reduce((a, b) => a * b, 1));
const session = await ort.InferenceSession.create(model, { logSeverityLevel: 3 });
const found = await session.run({ [session.inputNames[0]]: new ort.Tensor("float32", image, shape) });
let worst = 0;
references.forEach((file, k) => {
  const expected = readNpy(file).values;
  const values = found[session.outputNames[k]].data; // of the first image: the front of the reference
  let largest = 0;
  let difference = 0;
  for (let i = 0; i < expected.length; ++i) largest = Math.max(largest, Math.abs(expected[i]));
  for (let i = 0; i < values.length; ++i) difference = Math.max(difference, Math.abs(values[i] - expected[i]));
  worst = Math.max(worst, Number.isNaN(difference) ? Infinity : difference / largest);
});
console.log(`${path.basename(model)}: ${worst.toExponential(1)}`);
process.exit(worst < 1e-4 ? 0 : 1);
