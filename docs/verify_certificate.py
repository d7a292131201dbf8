"""Verify a certificate of Tallystick without Tallystick.

    python verify_certificate.py CERTIFICATE KEY.pub [PATH]

PATH is the file or folder that the certificate must be about. It needs `pip install cryptography`, and nothing else.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_public_key

envelope = json.loads(Path(sys.argv[1]).read_bytes())
payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
key = load_pem_public_key(Path(sys.argv[2]).read_bytes())
key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)  # raises InvalidSignature

statement = json.loads(payload)
subject, predicate = statement["subject"][0], statement["predicate"]
kinds = "https://in-toto.io/Statement/v1", "https://in-toto.io/attestation/test-result/v0.1", "PASSED"
if (statement["_type"], statement["predicateType"], predicate["result"]) != kinds:
    sys.exit("NOT VALID: it is no test result, or none that passed")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


if len(sys.argv) > 3:
    place = Path(sys.argv[3])
    files = {file.relative_to(place).as_posix(): file for file in place.rglob("*") if file.is_file()}
    lines = [f"{sha256(files[name].read_bytes())}  {name}\n" for name in sorted(files, key=str.encode)]
    found = {"sha256": sha256(place.read_bytes())} if place.is_file() else {"dirHash": sha256("".join(lines).encode())}
    found == subject["digest"] or sys.exit(f"NOT VALID: the certificate is about another artifact, not {found}")
print(subject["name"], *subject["digest"].values(), *predicate["passedTests"], sep="\n")
