"""What tests of model files share."""

import hashlib
import json

import numpy as np
from safetensors.numpy import load, save

import harmonium as hm

TIMES = np.array([0.0, 3.0, 12.0, 24.0, 60.0])
load_model = hm.load


def predictions(model, study):
    """All bits of what the model says of a few rows."""
    X, y = study[0][:20], study[1][:20]
    curves = [model.predict_survival_function(X, endpoint=e, times=TIMES, return_array=True) for e in model.endpoint_names]
    likelihoods = [model.log_likelihood(X, y, kind=kind) for kind in ("conditional", "joint")]
    return np.concatenate([part.ravel() for part in (*curves, *likelihoods, model.predict(X))]).tobytes()


def loaded(path, content):
    path.write_bytes(content)
    return load_model(path)


def opened(content):
    """The JSON document and the tensors of a file."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["harmonium"]), dict(load(content))


def sealed(document, tensors):
    """A file with a checksum that is right; written from the format's description, not with the library's own code."""
    document = {key: value for key, value in document.items() if key != "checksum"}
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    total = hashlib.sha256(json.dumps({**document, "tensors": shapes}, sort_keys=True, separators=(",", ":")).encode())
    for name in sorted(tensors):
        total.update(tensors[name].tobytes())
    return save(tensors, {"harmonium": json.dumps({**document, "checksum": total.hexdigest()})})
