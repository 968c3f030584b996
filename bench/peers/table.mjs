// Prints every figure of docs/internals/performance.md that needs no second OpenCV: our encoder and ONNX Runtime on the same
// exports, the kept gain of merging, the share of the machine's peak, a stream, memory, threads.
//   node table.mjs BUILD_DIR WORK_DIR [ROUNDS=5] [SECTION...]      SECTION: peer int8 gain ceiling stream memory threads
// Markdown goes to standard output, WORK_DIR/results.json holds every number. WORK_DIR keeps models and node_modules.
// Needs node, npm, python3-torch and a build with MPM_BUILD_BENCH.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const SECTIONS = ["peer", "int8", "gain", "ceiling", "stream", "memory", "threads"];
const [buildDir, workDir, ...rest] = process.argv.slice(2);
if (!workDir || rest.some((word) => !SECTIONS.includes(word) && !Number(word))) {
  console.error(`usage: node table.mjs BUILD_DIR WORK_DIR [ROUNDS] [${SECTIONS.join("|")}...]`);
  process.exit(2);
}
const rounds = Number(rest.find(Number) ?? 5);
const sections = rest.filter((word) => SECTIONS.includes(word));
const wanted = (section) => !sections.length || sections.includes(section);
const programs = path.resolve(buildDir);
const mpm = path.join(programs, "cli/mpm");
fs.mkdirSync(workDir, { recursive: true });
process.chdir(workDir);

const THREADS = 2;
const results = { rounds };

// --- running programs ---

const capture = (program, args, env = {}) =>
  execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28,
                                env: { ...process.env, ...env } });

/** The file `name`, made by `make` unless a run before made it. */
function once(name, make) {
  if (!fs.existsSync(name)) make();
  return name;
}

const exported = (name) =>
  once(`${name}.onnx`, () => capture("/usr/bin/python3", [path.join(here, "make_models.py"), ".", name]));

function converted(name, ...options) {
  const file = [name, ...options.filter((word) => !word.startsWith("--")), "mpm.onnx"].join(".");
  const output = name.startsWith("segmenter") ? ["--output", "labels"] : [];
  return once(file, () => capture(mpm, ["convert", exported(name), file, ...output, ...options]));
}

/** Rows of one `mpm bench`: all tokens, then merged; the two take turns inside. */
function bench(model, precision, { count = 10, batch = 1, threads = THREADS, env = {} } = {}) {
  capture(mpm, ["bench", model, "--compare", "none,mpm", "--precision", precision, "--rounds", `${count}`, "--batch",
                `${batch}`, "--threads", `${threads}`, "--device", "cpu", "--json", "round.json"], env);
  return JSON.parse(fs.readFileSync("round.json", "utf8")).results;
}

const peer = (name) =>
  JSON.parse(capture("node", [path.join(here, "onnxruntime.mjs"), exported(name), `${THREADS}`, "10"])).ms.median;

// --- numbers and tables ---

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
const median = (values) => quantile(values, 0.5);
const range = (values, digits) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}-${Math.max(...values).toFixed(digits)})`;
const row = (...cells) => console.log(`| ${cells.join(" | ")} |`);
function table(title, ...heads) {
  console.log(`\n${title}\n`);
  row(...heads);
  row(...heads.map(() => "---"));
}
const cpuinfo = fs.readFileSync("/proc/cpuinfo", "utf8");
const hasBf16 = /avx512_bf16|amx_bf16|\bbf16\b/.test(cpuinfo), hasAvx512Bf16 = cpuinfo.includes("avx512_bf16");
const precisions = hasBf16 ? ["f32", "bf16"] : ["f32"];

/** The kept gain of merging: speed-up of the encoder over the ratio of the operations. */
const kept = ([all, merged]) => all.encoder_ms / merged.encoder_ms / (all.gflops / merged.gflops);
const share = ([, merged]) => (100 * (merged.merge_ms + merged.restore_ms)) / merged.encoder_ms;

// --- sections ---

function installPeer() {
  if (!fs.existsSync("node_modules/onnxruntime-node"))
    capture("npm", ["install", "--silent", "--ignore-scripts", "onnxruntime-node"]);
}

function besideOnnxRuntime() {
  installPeer();
  results.onnxruntime = JSON.parse(fs.readFileSync("node_modules/onnxruntime-node/package.json", "utf8")).version;
  const ways = precisions.flatMap((precision) => [`all tokens, ${precision}`, `merged, ${precision}`]);
  table(`Whole forward, 512x512, batch 1: ms and how many times as fast as ONNX Runtime ${results.onnxruntime} in f32 with all ` +
        `tokens; median of ${rounds} rounds (least-most)`, "model", "ONNX Runtime", ...ways);
  results.peer = {};
  for (const name of ["vit-t", "vit-s", "vit-b", "segmenter-t"]) {
    const model = converted(name);
    const runs = [];
    for (let round = 0; round < rounds; ++round) {
      const theirs = peer(name);
      runs.push({ theirs, ours: precisions.flatMap((precision) => bench(model, precision)) });
    }
    results.peer[name] = runs;
    row(name, median(runs.map((run) => run.theirs)).toFixed(1), ...ways.map((_, way) => {
      const ours = runs.map((run) => run.ours[way].ms.median);
      return `${median(ours).toFixed(1)}, x ${range(runs.map((run, i) => run.theirs / ours[i]), 2)}`;
    }));
  }
}

/** The model that ONNX Runtime's quantize_dynamic wrote, where MPM_INT8_PEER names one: our conversion is of `vit-t`. */
function besideDynamicInt8() {
  const theirs = process.env.MPM_INT8_PEER;
  if (!theirs) return;
  const model = converted("vit-t", "--size", "224x224");
  const runs = Array.from({ length: rounds }, () => ({
    theirs: JSON.parse(capture("node", [path.join(here, "onnxruntime.mjs"), theirs, `${THREADS}`, "20", "224"])).ms.median,
    ours: bench(model, "i8", { count: 20 })[0].ms.median,
  }));
  results.dynamicInt8 = runs;
  console.log(`\nViT-T, 224x224, int8: ONNX Runtime's dynamic quantisation ${median(runs.map((run) => run.theirs)).toFixed(2)} ms, ` +
              `ours ${median(runs.map((run) => run.ours)).toFixed(2)}, x ${range(runs.map((run) => run.theirs / run.ours), 2)}`);
}

/** i8 beside ONNX Runtime in f32, beside our own bf16 on AMX, and beside our own f32 on narrower instruction sets. */
function int8() {
  installPeer();
  besideDynamicInt8();
  results.int8 = [];
  for (const isa of hasAvx512Bf16 ? ["", "avx512-vnni"] : [""]) {
    table(`int8, whole forward, 512x512, batch 1${isa && `, MPM_MAX_CPU_ISA=${isa}`}: ms, and how many times as fast as ` +
          "ONNX Runtime in f32 with all tokens", "model", "ONNX Runtime", "all tokens", "merged");
    const env = isa ? { MPM_MAX_CPU_ISA: isa } : {};
    for (const name of ["vit-t", "vit-s", "vit-b"]) {
      const runs = Array.from({ length: rounds }, () => ({ theirs: peer(name), ours: bench(converted(name), "i8", { env }) }));
      results.int8.push({ name, isa, runs });
      row(name, median(runs.map((run) => run.theirs)).toFixed(1), ...[0, 1].map((way) =>
        `${median(runs.map((run) => run.ours[way].ms.median)).toFixed(1)}, x ${range(runs.map((run) => run.theirs / run.ours[way].ms.median), 2)}`));
    }
  }
  const rivals = [{ rival: "f32", isa: "avx2" }];
  if (cpuinfo.includes("avx_vnni")) rivals.unshift({ rival: "f32", isa: "avx-vnni" });
  if (cpuinfo.includes("amx_int8")) rivals.unshift({ rival: "bf16", isa: "" });
  for (const { rival, isa } of rivals) {
    table(`int8 beside our ${rival}${isa && `, both with MPM_MAX_CPU_ISA=${isa}`}: ms, all tokens`, "model", rival, "i8", "times as fast");
    for (const name of ["vit-t", "vit-s", "vit-b"]) {
      const env = isa ? { MPM_MAX_CPU_ISA: isa } : {}, count = name === "vit-b" ? 4 : 10;
      const runs = Array.from({ length: rounds }, () =>
        [rival, "i8"].map((precision) => bench(converted(name), precision, { env, count })[0].ms.median));
      results.int8.push({ name, rival, isa, runs });
      row(name, median(runs.map(([other]) => other)).toFixed(1), median(runs.map(([, i8]) => i8)).toFixed(1),
          range(runs.map(([other, i8]) => other / i8), 2));
    }
  }
}

function gainKept() {
  table("What merging keeps: the encoder's speed-up over all tokens, divided by the ratio of the operations", "model",
        "precision", "batch", "tokens left", "GFLOPs", "encoder, ms an image", "speed-up", "kept",
        "merge and restore, % of the encoder");
  results.gain = [];
  const cases = [["vit-t", 1], ["vit-s", 1], ["vit-b", 1], ["vit-t", 8], ["vit-s", 8], ["vit-b-8", 1]];
  for (const [name, batch] of cases) {
    const heavy = name.startsWith("vit-b");
    const model = batch > 1 ? converted(name, "--batch", `${batch}`) : converted(name);
    for (const precision of [...precisions, "i8"]) {
      const runs = Array.from({ length: name === "vit-b-8" ? Math.min(rounds, 2) : rounds }, () =>
        bench(model, precision, { batch, count: name === "vit-b-8" ? 2 : heavy || batch > 1 ? 4 : 10 }));
      results.gain.push({ name, batch, precision, runs });
      const [all, merged] = runs[0];
      row(name, precision, batch, Math.round(merged.tokens.at(-1)), `${all.gflops.toFixed(1)} -> ${merged.gflops.toFixed(1)}`,
          `${median(runs.map((run) => run[0].encoder_ms)).toFixed(1)} -> ${median(runs.map((run) => run[1].encoder_ms)).toFixed(1)}`,
          median(runs.map(([a, m]) => a.encoder_ms / m.encoder_ms)).toFixed(3), range(runs.map(kept), 2),
          median(runs.map(share)).toFixed(1));
    }
  }
}

function ceilingShare() {
  table("Share of the machine's ceiling: operations over the encoder's time, of the rate at the size where oneDNN's products are fastest, in the same round",
        "model", "precision", "oneDNN's best, GFLOP/s", "encoder, GFLOP/s", "share");
  results.ceiling = [];
  for (const name of ["vit-t", "vit-s", "vit-b"]) {
    for (const precision of precisions) {
      const runs = Array.from({ length: rounds }, () => {
        const best = JSON.parse(capture(path.join(programs, "bench/mpm_bench_onednn"), [], { OMP_NUM_THREADS: `${THREADS}` }));
        const [all] = bench(converted(name), precision, { count: name === "vit-b" ? 4 : 10 });
        return { best: best[precision], rate: (1000 * all.gflops) / all.encoder_ms };
      });
      results.ceiling.push({ name, precision, runs });
      row(name, precision, median(runs.map((run) => run.best)).toFixed(0), median(runs.map((run) => run.rate)).toFixed(0),
          range(runs.map((run) => run.rate / run.best), 2));
    }
  }
}

function stream() {
  const frames = 500, warmUp = 20;
  const tail = (times) => quantile(times, 0.99) / median(times);
  const steady = ({ times, constant }) =>
    times.filter((_, i) => [constant[i], constant[i + 1]].every((ms) => ms <= 1.25 * median(constant)));
  table(`A stream whose counts change every frame: the shipped model on ${frames} frames of the built-in street over a day, each ` +
        "drawn before the network starts. A loop of constant work before each frame shows what the machine does by itself; its speed is " +
        "steady around a frame where the loops before and after it took at most a quarter more than their median",
        "precision", "tokens left", "median, ms", "p99, ms", "p99 / median", "of the constant loop", "steady frames, %", "their p99 / median");
  results.stream = [];
  for (const precision of precisions) {
    const runs = Array.from({ length: rounds }, () => {
      const out = capture(path.join(programs, "bench/mpm_bench_stream"), ["default", `${frames + warmUp}`, precision, `${THREADS}`]);
      const lines = out.trim().split("\n").slice(1 + warmUp).map((line) => line.split(",").map(Number));
      return { times: lines.map(([, ms]) => ms), left: lines.map(([, , tokens]) => tokens),
               constant: lines.map(([, , , ms]) => ms) };
    });
    results.stream.push({ precision, runs });
    const left = runs.flatMap((run) => run.left);
    row(precision, `${Math.min(...left)}-${Math.max(...left)}`, median(runs.map((run) => median(run.times))).toFixed(2),
        median(runs.map((run) => quantile(run.times, 0.99))).toFixed(2),
        range(runs.map((run) => tail(run.times)), 2), range(runs.map((run) => tail(run.constant)), 2),
        (100 * median(runs.map((run) => steady(run).length / frames))).toFixed(0), range(runs.map((run) => tail(steady(run))), 2));
  }
}

async function memory() {
  table("Most memory of a whole process, one forward of ViT-T/16", "tokens", "MiB", "of them the model's file");
  results.memory = [];
  for (const side of [512, 2048]) {
    const model = side === 512 ? converted("vit-t") : converted("vit-t", "--size", `${side}x${side}`);
    const child = spawn(path.join(programs, "bench/mpm_bench_opencv"), [model, `${THREADS}`, "1"], { stdio: "ignore" });
    let most = 0;
    const watch = setInterval(() => {
      try {
        most = Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? most);
      } catch { /* it has just ended */ }
    }, 20);
    await new Promise((done) => child.on("exit", done));
    clearInterval(watch);
    const megabytes = { tokens: (side / 16) ** 2, peak: most / 1024, file: fs.statSync(model).size / 2 ** 20 };
    results.memory.push(megabytes);
    row(megabytes.tokens, megabytes.peak.toFixed(0), megabytes.file.toFixed(0));
  }
}

function threads() {
  table("Two threads over one, all tokens", "model", "precision", "1 thread, ms", "2 threads, ms", "times as fast");
  results.threads = [];
  for (const precision of precisions) {
    const runs = Array.from({ length: rounds }, () =>
      [1, 2].map((count) => bench(converted("vit-t"), precision, { threads: count })[0].ms.median));
    results.threads.push({ precision, runs });
    row("vit-t", precision, median(runs.map((run) => run[0])).toFixed(1), median(runs.map((run) => run[1])).toFixed(1),
        range(runs.map(([one, two]) => one / two), 2));
  }
}

results.machine = {
  cpu: os.cpus()[0].model, cores: os.cpus().length, kernel: `${os.type()} ${os.release()} ${os.arch()}`,
  features: [...new Set(fs.readFileSync("/proc/cpuinfo", "utf8").match(/\b(avx2|avx512f|avx512_vnni|avx_vnni|avx512_bf16|amx_bf16|asimd|bf16)\b/g))],
  mpm: capture(mpm, ["--version"]).trim(), date: new Date().toISOString().slice(0, 10),
};
console.log(`${results.machine.cpu} (${results.machine.features.join(" ")}), ${results.machine.cores} cores, ` +
            `${results.machine.kernel}, ${results.machine.mpm}, ${THREADS} threads, ${results.machine.date}`);
const all = { peer: besideOnnxRuntime, int8, gain: gainKept, ceiling: ceilingShare, stream, memory, threads };
for (const section of SECTIONS.filter(wanted)) {
  await all[section]();
  fs.writeFileSync("results.json", JSON.stringify(results, null, 1));
}
