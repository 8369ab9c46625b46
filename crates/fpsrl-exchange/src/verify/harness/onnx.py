"""Runs an exported graph over the states that come in, a line a state."""
import json
import sys

try:
    import numpy as np
    import onnxruntime
except ImportError as missing:
    sys.stderr.write(f"the Python package {missing.name} is not installed")
    sys.exit(3)

path, interface = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
tools = [f"onnxruntime {onnxruntime.__version__}"]
try:
    import onnx

    onnx.checker.check_model(path, full_check=True)
    tools.append(f"onnx {onnx.__version__}")
except ImportError:
    pass

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
kind = np.float32 if interface["precision"] == "single" else np.float64
states = np.array([[float(word) for word in line.split()] for line in sys.stdin]).astype(kind)
if interface["sums"]:
    # NaN stands for sums that have not begun.
    begin = {"last": np.array([interface["fallback"]], dtype=kind), "sums": np.full((1, interface["sums"]), np.nan, dtype=kind)}
    memory = begin
    rows = []
    for reset, *state in states:
        memory = begin if reset else memory
        action, outside, sums = session.run(["action", "outside", "next_sums"], {"state": np.array([state], dtype=kind), **memory})
        memory = {"last": action, "sums": sums}
        rows.append((action[0], outside[0]))
elif interface["remembers"]:
    last = np.array([interface["fallback"]], dtype=kind)
    rows = []
    for state in states:
        last, outside = session.run(["action", "outside"], {"state": state[None, :], "last": last})
        rows.append((last[0], outside[0]))
else:
    actions, outside = session.run(["action", "outside"], {"state": states})
    rows = list(zip(actions, outside))
for action, outside in rows:
    print(*(repr(float(value)) for value in action), int(outside))
sys.stderr.write(", ".join(tools))
