"""libmpm_cuda's C entry (mpm_layer/cuda/interface/entry.h) for Python, without OpenCV."""

import ctypes as c

VERSION = 4
GRAPHS = {"never": 0, "always": 1, "auto": 2}
NEAREST = {"plain": 0, "tensor": 1}
PRECISIONS = {"f32": 0, "tf32": 1, "bf16": 2, "f16": 3}
FLOATS = c.POINTER(c.c_float)
INTS = c.POINTER(c.c_int32)
PARALLEL = c.CFUNCTYPE(None, c.c_int32, c.c_void_p, c.c_void_p)


def structure(name, *fields):
    return type(name, (c.Structure,), {"_fields_": list(fields)})


def ints(*names):
    return [(name, c.c_int32) for name in names]


Error = structure("Error", ("text", c.c_char * 512))
Norm = structure("Norm", ("weight", c.c_void_p), ("bias", c.c_void_p), *ints("present"))
Linear = structure("Linear", ("weight", c.c_void_p), ("bias", c.c_void_p), *ints("depth", "columns"))
Rotary = structure("Rotary", ("cosine", c.c_void_p), ("sine", c.c_void_p), *ints("tables", "positions"))
Block = structure(
    "Block",
    *[(n, Norm) for n in ("norm1", "q_norm", "k_norm", "attention_norm", "norm2", "mlp_norm")],
    *[(n, Linear) for n in ("qkv", "projection", "fc1", "gate", "fc2")],
    ("scale1", c.c_void_p), ("scale2", c.c_void_p), ("rotary", Rotary))
Description = structure(
    "Description", *ints("dim", "heads", "head_size", "precision"), ("attention_scale", c.c_float),
    ("final_norm", Norm), ("blocks", c.POINTER(Block)), *ints("block_count"))
NormRule = structure("NormRule", ("epsilon", c.c_float), *ints("kind"))
Options = structure("Options", *ints("special_tokens", "activation", "rotary_halves", "parallel"),
                    *[(n, NormRule) for n in ("norm", "inner_norm", "final_norm")])
Input = structure(
    "Input", ("options", Options), ("tokens", c.c_void_p), *ints("tokens_on_device"), ("stream", c.c_void_p),
    *ints("images", "rows_per_image"), ("key_bias", c.c_void_p),
    *ints("key_bias_images", "proportional", "read_counts", "fixed_kernels", "graphs", "nearest"),
    ("parallel", PARALLEL))
Stage = structure("Stage", ("ids", c.c_void_p), ("clusters", c.c_void_p), *ints("mean"))
Times = structure("Times", ("merge_ms", c.c_double), ("restore_ms", c.c_double))
Device = structure("Device", ("name", c.c_char * 256), *ints("major", "minor", "multiprocessors"),
                   ("memory", c.c_uint64))


def function(*arguments, result=c.c_int):
    return c.CFUNCTYPE(result, *arguments)


HANDLE, OUT = c.c_void_p, c.POINTER(c.c_void_p)
ERROR = c.POINTER(Error)
Entry = structure(
    "Entry", ("version", c.c_uint32), ("size", c.c_uint32),
    ("device_count", function(INTS, ERROR)),
    ("device_info", function(c.c_int32, c.POINTER(Device), ERROR)),
    ("create_encoder", function(c.c_int32, c.POINTER(Description), OUT, ERROR)),
    ("destroy_encoder", function(HANDLE, result=None)),
    ("begin", function(HANDLE, c.POINTER(Input), OUT, ERROR)),
    ("reduce", function(HANDLE, c.POINTER(Stage), ERROR)),
    ("attend", function(HANDLE, c.c_int32, ERROR)),
    ("run_mlp", function(HANDLE, c.c_int32, ERROR)),
    ("emit", function(HANDLE, c.c_int32, c.c_void_p, c.c_int32, ERROR)),
    ("finish", function(HANDLE, c.POINTER(Times), ERROR)),
    ("stage_tokens", function(HANDLE, c.c_int32, c.c_int32, INTS, ERROR)),
    ("stage_map", function(HANDLE, c.c_int32, c.c_int32, INTS, ERROR)),
    ("read_counts", function(HANDLE, INTS, ERROR)),
    ("read_rows", function(HANDLE, FLOATS, FLOATS, FLOATS, ERROR)),
    ("end", function(HANDLE, result=None)),
    ("restore", function(c.c_int32, c.c_void_p, ERROR)))


def load(path):
    library = c.CDLL(path)
    library.mpm_cuda_entry.restype = c.POINTER(Entry)
    found = library.mpm_cuda_entry(c.c_uint32(VERSION))
    if not found or found.contents.version != VERSION or found.contents.size != c.sizeof(Entry):
        raise RuntimeError(f"{path}: its C entry is not version {VERSION}")
    return found.contents


class Encoder:
    """A plain ViT encoder. weights: {name: f32 array on the processor}, with the names of docs/reference/operators.md."""

    def __init__(self, path, weights, heads, blocks, precision, special=1):
        self.entry, self.weights, self.count, self.special = load(path), weights, blocks, special
        self.dim = weights["0.qkv.weight"].shape[0]
        self._blocks = (Block * blocks)(*[self._block(i) for i in range(blocks)])
        size = self.dim // heads
        description = Description(
            dim=self.dim, heads=heads, head_size=size, precision=PRECISIONS[precision], attention_scale=size ** -0.5,
            final_norm=self._norm("norm"), blocks=self._blocks, block_count=blocks)
        self.handle = c.c_void_p()
        self._call("create_encoder", 0, c.byref(description), c.byref(self.handle))

    def close(self):
        self.entry.destroy_encoder(self.handle)
        self.handle = c.c_void_p()

    def _call(self, name, *arguments):
        error = Error()
        if getattr(self.entry, name)(*arguments, c.byref(error)) != 0:
            raise RuntimeError(f"{name}: {error.text.decode()}")

    def _pointer(self, name):
        return self.weights[name].ctypes.data

    def _norm(self, name):
        return Norm(self._pointer(name + ".weight"), self._pointer(name + ".bias"), 1)

    def _linear(self, name):
        return Linear(self._pointer(name + ".weight"), self._pointer(name + ".bias"),
                      *self.weights[name + ".weight"].shape)

    def _block(self, i):
        p = f"{i}."
        return Block(norm1=self._norm(p + "norm1"), norm2=self._norm(p + "norm2"), qkv=self._linear(p + "qkv"),
                     projection=self._linear(p + "proj"), fc1=self._linear(p + "fc1"), fc2=self._linear(p + "fc2"))

    def run(self, tokens, output, images, rows, schedule=(), on_device=True, maps=False, imposed=None,
            read_counts=True, fixed=False, graphs="auto", nearest="tensor"):
        """tokens, output: addresses. imposed: {block: (ids of all images, number of clusters of each)}, int32 arrays.
        Returns (times, maps by stage and image, or None)."""
        session = c.c_void_p()
        rule = NormRule(epsilon=1e-6)
        options = Options(special_tokens=self.special, activation=1, norm=rule, inner_norm=rule, final_norm=rule)
        given = Input(options=options, tokens=tokens, tokens_on_device=on_device, images=images, rows_per_image=rows,
                      key_bias_images=1, read_counts=read_counts, fixed_kernels=fixed, graphs=GRAPHS[graphs],
                      nearest=NEAREST[nearest])
        imposed = imposed or {}
        self._call("begin", self.handle, c.byref(given), c.byref(session))
        try:
            for block in range(self.count):
                if block in imposed:
                    ids, clusters = imposed[block]
                    self._call("reduce", session, c.byref(Stage(ids=ids.ctypes.data, clusters=clusters.ctypes.data)))
                elif block in schedule:
                    self._call("reduce", session, c.byref(Stage()))
                self._call("attend", session, block)
                self._call("run_mlp", session, block)
            self._call("emit", session, 1, output, on_device)
            times = Times()
            self._call("finish", session, c.byref(times))
            return times, self._maps(session, images, rows - self.special, len(schedule)) if maps else None
        finally:
            self.entry.end(session)

    def _maps(self, session, images, tokens, stages):
        found = []
        left = [tokens] * images
        for stage in range(stages):
            found.append([])
            for image in range(images):
                ids = (c.c_int32 * max(left[image], 1))()
                self._call("stage_map", session, stage, image, ids)
                found[-1].append(list(ids)[:left[image]])
                count = c.c_int32()
                self._call("stage_tokens", session, stage, image, c.byref(count))
                left[image] = count.value
        return found
