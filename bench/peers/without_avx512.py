#!/usr/bin/env python3
"""Copies the installed package onnxruntime to FOLDER/onnxruntime and changes the copy, so that it computes as on a processor
without AVX-512: each `xgetbv` of register 0 is replaced by `mov al, 7`, a system that saves only SSE and AVX registers.

    without_avx512.py FOLDER
    PYTHONPATH=FOLDER MPM_MAX_CPU_ISA=avx2 table.py BUILD_DIR WORK_DIR 5 detectors
"""
import pathlib
import shutil
import sys

import onnxruntime

if len(sys.argv) != 2:
    sys.exit(__doc__)
source = pathlib.Path(onnxruntime.__file__).parent
target = pathlib.Path(sys.argv[1]) / "onnxruntime"
shutil.copytree(source, target)
clear, xgetbv, seven = b"\x31\xc9", b"\x0f\x01\xd0", b"\xb0\x07\x90"  # xor ecx, ecx; xgetbv; mov al, 7 and nop
changed = 0
for library in target.glob("capi/*.so"):
    code = library.read_bytes()
    changed += code.count(clear + xgetbv)
    library.write_bytes(code.replace(clear + xgetbv, clear + seven))
print(f"{target}: {changed} places changed")
sys.exit(changed == 0)
