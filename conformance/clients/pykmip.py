"""Drives a KMIP server with PyKMIP: one line for each step that worked, in JSON. Arguments: host port ca cert key version."""

import json
import sys

from kmip.core import enums
from kmip.core.attributes import Name
from kmip.core.factories.attributes import AttributeFactory
from kmip.pie import client, exceptions, objects

host, port, ca, cert, key, version = sys.argv[1:7]
kmip_version = getattr(enums.KMIPVersion, "KMIP_" + version.replace(".", "_"))
early = version in ("1.0", "1.1")


def told(step, **fields):
    print(json.dumps({"step": step, **fields}), flush=True)


def refused(step, act):
    """The step must be refused by the server; its reason is told."""
    try:
        act()
    except exceptions.KmipOperationFailure as failure:
        told(step, reason=failure.reason.name)
        return
    raise AssertionError(step + " was not refused")


masks = enums.CryptographicUsageMask
aes = enums.CryptographicAlgorithm.AES
cbc = {
    "cryptographic_algorithm": aes,
    "block_cipher_mode": enums.BlockCipherMode.CBC,
    "padding_method": enums.PaddingMethod.PKCS5,
}

with client.ProxyKmipClient(
    hostname=host, port=int(port), ca=ca, cert=cert, key=key, kmip_version=kmip_version
) as kmip:
    name = "pykmip " + version
    key_id = kmip.create(
        aes,
        256,
        name=name,
        cryptographic_usage_mask=[masks.ENCRYPT, masks.DECRYPT],
    )
    told("create")

    material = bytes(range(32))
    registered = kmip.register(
        objects.SymmetricKey(
            aes,
            256,
            material,
            masks=[masks.ENCRYPT, masks.DECRYPT],
            name=name + " registered",
        )
    )
    got = kmip.get(registered)
    assert got.value == material and got.cryptographic_algorithm == aes
    assert len(kmip.get(key_id).value) == 32
    told("register and get")

    secret = kmip.register(
        objects.SecretData(b"open sesame", enums.SecretDataType.PASSWORD)
    )
    assert kmip.get(secret).value == b"open sesame"
    opaque = kmip.register(
        objects.OpaqueObject(b"anything", enums.OpaqueDataType.NONE)
    )
    assert kmip.get(opaque).value == b"anything"
    told("secret data and opaque objects")

    factory = AttributeFactory()
    by_name = factory.create_attribute(
        enums.AttributeType.NAME,
        Name.create(name, enums.NameType.UNINTERPRETED_TEXT_STRING),
    )
    found = kmip.locate(attributes=[by_name])
    assert found == [key_id], found
    told("locate")

    names = kmip.get_attribute_list(key_id)
    assert "Cryptographic Algorithm" in names, names
    _, values = kmip.get_attributes(key_id, ["Cryptographic Length", "State"])
    assert len(values) == 2, values
    told("attributes", names=len(names))

    kmip.activate(key_id)
    told("activate")
    refused("destroy of an active key", lambda: kmip.destroy(key_id))

    if not early:
        sealed, iv = kmip.encrypt(
            b"attack at dawn", uid=key_id, cryptographic_parameters=cbc
        )
        plain = kmip.decrypt(
            sealed, uid=key_id, cryptographic_parameters=cbc, iv_counter_nonce=iv
        )
        assert plain == b"attack at dawn", plain
        told("encrypt and decrypt")

    public, private = kmip.create_key_pair(
        enums.CryptographicAlgorithm.RSA,
        2048,
        public_name=name + " public",
        private_name=name + " private",
        public_usage_mask=[masks.VERIFY],
        private_usage_mask=[masks.SIGN],
    )
    assert kmip.get(public).key_format_type is not None
    told("create a key pair")
    if not early:
        kmip.activate(public)
        kmip.activate(private)
        pkcs1 = {
            "cryptographic_algorithm": enums.CryptographicAlgorithm.RSA,
            "hashing_algorithm": enums.HashingAlgorithm.SHA_256,
            "padding_method": enums.PaddingMethod.PKCS1v15,
        }
        signature = kmip.sign(b"a contract", uid=private, cryptographic_parameters=pkcs1)
        valid = kmip.signature_verify(
            b"a contract", signature, uid=public, cryptographic_parameters=pkcs1
        )
        assert valid == enums.ValidityIndicator.VALID
        changed = kmip.signature_verify(
            b"a treaty", signature, uid=public, cryptographic_parameters=pkcs1
        )
        assert changed == enums.ValidityIndicator.INVALID
        told("sign and verify")

        mac_key = kmip.register(
            objects.SymmetricKey(
                enums.CryptographicAlgorithm.HMAC_SHA256,
                256,
                material,
                masks=[masks.MAC_GENERATE, masks.MAC_VERIFY],
            )
        )
        kmip.activate(mac_key)
        _, mac = kmip.mac(b"a message", mac_key, enums.CryptographicAlgorithm.HMAC_SHA256)
        assert len(mac) == 32
        told("mac", mac=mac.hex())

    base = kmip.register(
        objects.SymmetricKey(aes, 256, material, masks=[masks.DERIVE_KEY])
    )
    kmip.activate(base)
    derived = kmip.derive_key(
        enums.ObjectType.SYMMETRIC_KEY,
        [base],
        enums.DerivationMethod.HMAC,
        {
            "derivation_data": b"context",
            "cryptographic_parameters": {
                "hashing_algorithm": enums.HashingAlgorithm.SHA_256
            },
        },
        cryptographic_length=256,
        cryptographic_algorithm=aes,
        cryptographic_usage_mask=[masks.ENCRYPT],
    )
    told("derive", key=kmip.get(derived).value.hex())

    replaced = kmip.rekey(uid=key_id)
    assert replaced != key_id
    told("rekey")

    kmip.revoke(enums.RevocationReasonCode.CESSATION_OF_OPERATION, key_id)
    told("revoke")
    kmip.destroy(key_id)
    told("destroy")
    refused("get of what is destroyed", lambda: kmip.get(key_id))
    refused("get of what never was", lambda: kmip.get("nothing"))
