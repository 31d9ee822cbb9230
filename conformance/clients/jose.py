"""Opens and verifies what the REST API makes, and encrypts for it, with jwcrypto and authlib: JSON lines.

Argument: a file of JSON with keys and messages. What was encrypted is told as `sealed`.
"""

import json
import sys

from authlib.jose import JsonWebKey, JsonWebSignature
from jwcrypto import jwe, jwk, jws

given = json.load(open(sys.argv[1]))


def step(name, act):
    try:
        sealed = act()
        told = {} if sealed is None else {"sealed": sealed}
        print(json.dumps({"step": name, "passed": True, **told}), flush=True)
    except Exception as failure:  # whatever a library raises is its verdict
        why = type(failure).__name__ + ": " + str(failure)
        print(json.dumps({"step": name, "passed": False, "why": why}), flush=True)


def decrypts(message):
    sealed = jwe.JWE()
    sealed.deserialize(json.dumps(message["jwe"]), jwk.JWK(**message["key"]))
    assert sealed.payload.decode() == given["text"], sealed.payload


def encrypts(recipient):
    header = {"alg": recipient["alg"], "enc": "A256GCM", "kid": recipient["kid"]}
    sealed = jwe.JWE(given["text"].encode(), json.dumps(header), recipient=jwk.JWK(**recipient["key"]))
    return json.loads(sealed.serialize())


def verifies(message):
    parts = message["jws"]
    compact = parts["protected"] + ".." + parts["signature"]
    checked = jws.JWS()
    checked.deserialize(compact)
    checked.allowed_algs = [message["alg"]]
    checked.verify(jwk.JWK(**message["key"]), detached_payload=given["text"].encode())


def verifies_authlib(message):
    parts = message["jws"]
    compact = ".".join([parts["protected"], given["data"], parts["signature"]])
    JsonWebSignature([message["alg"]]).deserialize_compact(
        compact, JsonWebKey.import_key(message["key"])
    )


for message in given["encrypted"]:
    step("jwcrypto: decrypt " + message["name"], lambda: decrypts(message))
for recipient in given["recipients"]:
    step("jwcrypto: encrypt " + recipient["name"], lambda: encrypts(recipient))
for message in given["signed"]:
    step("jwcrypto: verify " + message["alg"], lambda: verifies(message))
    step("authlib: verify " + message["alg"], lambda: verifies_authlib(message))
