"""Drives the transit interface with hvac: one line for each step that worked, in JSON. Arguments: url ca token [hsm]."""

import base64
import json
import sys

import hvac
from hvac import exceptions

url, ca, token = sys.argv[1:4]
plaintext = base64.b64encode(b"attack at dawn").decode()


def told(step, **fields):
    print(json.dumps({"step": step, **fields}), flush=True)


def refused(step, error, act):
    """The step must be refused by the server with this error."""
    try:
        act()
    except error as reason:
        told(step, reason=str(reason.errors))
        return
    raise AssertionError(step + " was not refused")


client = hvac.Client(url=url, token=token, verify=ca)
transit = client.secrets.transit

transit.create_key(name="invoices")
key = transit.read_key(name="invoices")["data"]
assert key["type"] == "aes256-gcm96" and key["latest_version"] == 1
told("create and read a key")
assert transit.list_keys()["data"]["keys"] == ["invoices"]
told("list keys")

first = transit.encrypt_data(name="invoices", plaintext=plaintext)["data"]["ciphertext"]
assert transit.decrypt_data(name="invoices", ciphertext=first)["data"]["plaintext"] == plaintext
told("encrypt and decrypt", form=first.split(":")[1])
aad = base64.b64encode(b"row 7").decode()
bound = transit.encrypt_data(name="invoices", plaintext=plaintext, associated_data=aad)["data"]["ciphertext"]
opened = transit.decrypt_data(name="invoices", ciphertext=bound, associated_data=aad)
assert opened["data"]["plaintext"] == plaintext
refused("another row", exceptions.InvalidRequest, lambda: transit.decrypt_data(name="invoices", ciphertext=bound))

transit.rotate_key(name="invoices")
second = transit.rewrap_data(name="invoices", ciphertext=first)["data"]["ciphertext"]
assert second.startswith("vault:v2:")
assert transit.decrypt_data(name="invoices", ciphertext=first)["data"]["plaintext"] == plaintext
told("rotate and rewrap", form=second.split(":")[1])
batch = transit.encrypt_data(name="invoices", batch_input=[{"plaintext": plaintext}, {"plaintext": ""}])
results = batch["data"]["batch_results"]
opened = transit.decrypt_data(name="invoices", batch_input=[{"ciphertext": one["ciphertext"]} for one in results])
assert [one["plaintext"] for one in opened["data"]["batch_results"]] == [plaintext, ""]
told("batch")

transit.update_key_configuration(name="invoices", min_decryption_version=2)
refused("an older version", exceptions.InvalidRequest, lambda: transit.decrypt_data(name="invoices", ciphertext=first))
data_key = transit.generate_data_key(name="invoices", key_type="plaintext")["data"]
assert transit.decrypt_data(name="invoices", ciphertext=data_key["ciphertext"])["data"]["plaintext"] == data_key["plaintext"]
assert "plaintext" not in transit.generate_data_key(name="invoices", key_type="wrapped")["data"]
told("data keys")

for key_type in ("ecdsa-p256", "ecdsa-p384", "ecdsa-p521", "ed25519", "rsa-2048"):
    transit.create_key(name=key_type, key_type=key_type)
    signature = transit.sign_data(name=key_type, hash_input=plaintext)["data"]["signature"]
    valid = transit.verify_signed_data(name=key_type, hash_input=plaintext, signature=signature)
    wrong = transit.verify_signed_data(name=key_type, hash_input=aad, signature=signature)
    assert valid["data"]["valid"] and not wrong["data"]["valid"]
    told("sign and verify " + key_type)
for key_type in ("invoices", "ecdsa-p256", "ed25519", "rsa-2048"):
    for algorithm in (None, "sha2-224", "sha2-512"):
        hmac = transit.generate_hmac(name=key_type, hash_input=plaintext, algorithm=algorithm)["data"]["hmac"]
        for value, valid in ((plaintext, True), (aad, False)):
            answer = transit.verify_signed_data(name=key_type, hash_input=value, hmac=hmac, hash_algorithm=algorithm)
            assert answer["data"]["valid"] is valid
told("hmac with keys of other types")
# hvac knows fewer types of key than Vault.
client.adapter.post("/v1/transit/keys/mac", json={"type": "hmac"})
hmac = transit.generate_hmac(name="mac", hash_input=plaintext)["data"]["hmac"]
assert transit.verify_signed_data(name="mac", hash_input=plaintext, hmac=hmac)["data"]["valid"]
told("hmac")

assert len(base64.b64decode(transit.generate_random_bytes(n_bytes=24)["data"]["random_bytes"])) == 24
digest = transit.hash_data(hash_input=plaintext, algorithm="sha2-256")["data"]["sum"]
told("random and hash", sum=digest)
assert client.sys.read_health_status(method="GET")["initialized"]
told("health")

refused("deletion", exceptions.InvalidRequest, lambda: transit.delete_key(name="invoices"))
transit.update_key_configuration(name="invoices", deletion_allowed=True)
transit.delete_key(name="invoices")
refused("a deleted key", exceptions.InvalidPath, lambda: transit.read_key(name="invoices"))
refused("export", exceptions.InvalidRequest, lambda: transit.create_key(name="out", exportable=True))
if len(sys.argv) > 4:
    # hvac passes on neither members of Vault Enterprise nor those of Warder.
    client.adapter.post("/v1/transit/keys/payments", json={"type": "aes256-gcm96", "hsm": sys.argv[4]})
    sealed = transit.encrypt_data(name="payments", plaintext=plaintext)["data"]["ciphertext"]
    transit.rotate_key(name="payments")
    rewrapped = transit.rewrap_data(name="payments", ciphertext=sealed)["data"]["ciphertext"]
    for one in (sealed, rewrapped):
        assert transit.decrypt_data(name="payments", ciphertext=one)["data"]["plaintext"] == plaintext
    alias = {"type": "managed_key", "managed_key_name": "alias/transit/payments"}
    client.adapter.post("/v1/transit/keys/vaulted", json=alias)
    assert transit.read_key(name="vaulted")["data"]["hsm"] == sys.argv[4]
    assert transit.decrypt_data(name="vaulted", ciphertext=sealed)["data"]["plaintext"] == plaintext
    told("keys in an HSM")
stranger = hvac.Client(url=url, token="wt.nobody", verify=ca)
refused("a foreign token", exceptions.Forbidden, lambda: stranger.secrets.transit.read_key(name="mac"))
