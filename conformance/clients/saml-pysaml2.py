"""Plays an identity provider with pysaml2, and the browser between it and Warder.

Arguments: `metadata FOLDER` makes a key and prints the metadata; `drive FOLDER AUTH CA KMS` logs people of the realm `sso`
in and out, and prints one line of JSON for each step that worked.
"""

import base64
import datetime
import html
import http.client
import json
import pathlib
import re
import ssl
import sys
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from saml2 import BINDING_HTTP_REDIRECT, saml, xmldsig
from saml2.config import IdPConfig
from saml2.metadata import entity_descriptor
from saml2.server import Server
from saml2.sigver import pre_encryption_part

ORIGIN = "https://idp.example"
RSA_SHA256 = xmldsig.SIG_RSA_SHA256
PASSWORD = {"class_ref": saml.AUTHN_PASSWORD, "authn_auth": ORIGIN}


def make_key(folder):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "pysaml2")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    (folder / "idp.key").write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    (folder / "idp.crt").write_bytes(certificate.public_bytes(pem))


def config(folder, **more):
    places = {
        "single_sign_on_service": [(ORIGIN + "/sso", BINDING_HTTP_REDIRECT)],
        "single_logout_service": [(ORIGIN + "/slo", BINDING_HTTP_REDIRECT)],
    }
    return IdPConfig().load(
        {
            "entityid": ORIGIN + "/metadata",
            "key_file": str(folder / "idp.key"),
            "cert_file": str(folder / "idp.crt"),
            "signing_algorithm": RSA_SHA256,
            "digest_algorithm": xmldsig.DIGEST_SHA256,
            "service": {
                "idp": {
                    "endpoints": places,
                    "want_authn_requests_signed": True,
                    "policy": {"default": {"attribute_restrictions": None, "name_form": saml.NAME_FORMAT_URI}},
                }
            },
            **more,
        }
    )


def told(step):
    print(json.dumps({"step": step}), flush=True)


class Browser:
    """Cookies of each service; redirects are the caller's."""

    def __init__(self, ca):
        self.context = ssl.create_default_context(cafile=ca)
        self.cookies = {}

    def go(self, url, form=None):
        parts = urllib.parse.urlsplit(url)
        jar = self.cookies.setdefault(parts.netloc, {})
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())} if jar else {}
        body = None
        if form is not None:
            body = urllib.parse.urlencode(form)
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": ORIGIN}
        connection = http.client.HTTPSConnection(parts.netloc, context=self.context, timeout=20)
        path = parts.path + ("?" + parts.query if parts.query else "")
        connection.request("GET" if form is None else "POST", path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, value = line.split(";")[0].split("=", 1)
            jar.pop(name, None)
            if "Max-Age=0" not in line:
                jar[name] = value
        connection.close()
        return answer.status, answer.headers.get("Location"), text


def query_of(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


class Provider:
    def __init__(self, folder, auth, kms, ca):
        self.auth, self.kms, self.ca = auth, kms, ca
        status, _, metadata = Browser(ca).go(auth + "/saml/sso/metadata")
        assert status == 200, metadata
        (folder / "sp.xml").write_text(metadata)
        self.server = Server(config=config(folder, metadata={"local": [str(folder / "sp.xml")]}))
        self.sp = auth + "/saml/sso"
        certificate = self.server.metadata.certs(self.sp, "spsso", "encryption")[0][1]
        self.sp_certificate = "".join(certificate.split())
        (folder / "sp.crt").write_text(
            "-----BEGIN CERTIFICATE-----\n" + "\n".join(re.findall(".{1,64}", self.sp_certificate)) + "\n-----END CERTIFICATE-----\n"
        )
        self.sp_file = str(folder / "sp.crt")

    def answer_to(self, location, user, encryption=None, **options):
        """The response to an AuthnRequest, whose signature is verified by the metadata of the service."""
        sent = query_of(location)
        request = self.server.parse_authn_request(
            sent["SAMLRequest"], BINDING_HTTP_REDIRECT, sent["RelayState"], sent["SigAlg"], sent["Signature"]
        )
        args = self.server.response_args(request.message)
        name_id = saml.NameID(format=saml.NAMEID_FORMAT_PERSISTENT, text=user)
        identity = {"mail": [user + "@example.org"], "groups": ["staff", "night <shift> & day"], "other": ["secret"]}
        options = {"sign_assertion": True, "sign_alg": RSA_SHA256, "digest_alg": xmldsig.DIGEST_SHA256} | options
        response = self.server.create_authn_response(
            identity,
            args["in_response_to"],
            args["destination"],
            args["sp_entity_id"],
            name_id=name_id,
            authn=PASSWORD | {"authn_instant": None},
            **options,
        )
        text = str(response)
        if encryption is not None:
            text = self.encrypted(text, encryption)
        return {"SAMLResponse": base64.b64encode(text.encode()).decode(), "RelayState": sent["RelayState"]}

    def encrypted(self, text, algorithm):
        body = re.sub(r"(<(\w+):Assertion .*</\2:Assertion>)", r"<\2:EncryptedAssertion>\1</\2:EncryptedAssertion>", text, flags=re.S)
        template = pre_encryption_part(msg_enc=algorithm, encrypt_cert=self.sp_certificate)
        return self.server.sec.crypto.encrypt_assertion(body, self.sp_file, template, key_type="aes-128")

    def log_in(self, user, **options):
        browser = Browser(self.ca)
        status, location, text = browser.go(self.auth + "/saml/sso/login")
        assert status == 302, text
        return browser, browser.go(self.auth + "/saml/sso/acs", self.answer_to(location, user, **options))

    def claims_after(self, user, **options):
        browser, (status, _, text) = self.log_in(user, **options)
        assert status == 200, text
        claims = json.loads(browser.go(self.auth + "/whoami")[2])
        found = [claims.get(name) for name in ("sub", "as_as", "roles", "mail", "other")]
        assert found == [user, "sa", ["staff", "night <shift> & day"], user + "@example.org", None], claims
        return browser

    def whoami(self, browser):
        return browser.go(self.auth + "/whoami")[0]


def drive(folder, auth, ca, kms):
    provider = Provider(folder, auth, kms, ca)
    server = provider.server
    first = provider.claims_after("ann")
    told("login with mapped attributes, assertion signed")
    provider.claims_after("ann", sign_assertion=False, sign_response=True)
    told("response signed")
    provider.claims_after("bob", sign_response=True, sign_alg=xmldsig.SIG_RSA_SHA512, digest_alg=xmldsig.DIGEST_SHA512)
    told("both signed, SHA-512")
    gcm = "http://www.w3.org/2009/xmlenc11#aes128-gcm"
    provider.claims_after("ann", encryption=gcm)
    told("assertion encrypted with AES-GCM")

    def refused(step, reason, **options):
        _, (status, _, text) = provider.log_in("ann", **options)
        assert status == 401 and reason in text, text
        told(step)

    refused("assertion encrypted with CBC is refused", "use AES-GCM", encryption="http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    refused("SHA-1 is refused", "not allowed", sign_alg=xmldsig.SIG_RSA_SHA1, digest_alg=xmldsig.DIGEST_SHA1)
    refused("no signature is refused", "must be signed", sign_assertion=False, sign_response=False)

    browser = Browser(ca)
    status, location, text = browser.go(kms + "/ui/login_saml?realm=sso")
    assert status == 302, text
    status, location, text = browser.go(location)
    assert status == 302, text
    status, _, text = browser.go(auth + "/saml/sso/acs", provider.answer_to(location, "ann"))
    assert status == 200, text
    back = html.unescape(re.search('<a href="([^"]+)"', text)[1])
    status, location, text = browser.go(back)
    assert (status, location) == (302, "/ui"), text
    status, _, text = browser.go(kms + location)
    assert status == 200 and "sso/ann" in text, text
    told("login at the web page of the kms")

    name_id = saml.NameID(format=saml.NAMEID_FORMAT_PERSISTENT, text="ann")
    place = auth + "/saml/sso/slo"
    request_id, request = server.create_logout_request(place, provider.sp, name_id=name_id)
    sent = server.apply_binding(BINDING_HTTP_REDIRECT, str(request), place, "state", sign=True, sigalg=RSA_SHA256)
    status, location, text = Browser(ca).go(dict(sent["headers"])["Location"])
    assert status == 302 and location.startswith(ORIGIN + "/slo?"), text
    answer = server.parse_logout_request_response(query_of(location)["SAMLResponse"], BINDING_HTTP_REDIRECT)
    assert answer.response.in_response_to == request_id and answer.status_ok(), location
    assert query_of(location)["RelayState"] == "state"
    assert provider.whoami(first) == 401
    told("single logout by the identity provider")

    browser = provider.claims_after("carl")
    status, location, text = browser.go(auth + "/saml/sso/logout?return_to=https://app.example/bye")
    assert status == 302 and location.startswith(ORIGIN + "/slo?"), text
    sent = query_of(location)
    request = server.parse_logout_request(
        sent["SAMLRequest"], BINDING_HTTP_REDIRECT, sent.get("RelayState"), sent["SigAlg"], sent["Signature"]
    )
    assert request.message.name_id.text == "carl"
    response = server.create_logout_response(request.message, [BINDING_HTTP_REDIRECT])
    reply = server.apply_binding(
        BINDING_HTTP_REDIRECT, str(response), place, sent.get("RelayState", ""), response=True, sign=True, sigalg=RSA_SHA256
    )
    status, location, text = browser.go(dict(reply["headers"])["Location"])
    assert (status, location) == (302, "https://app.example/bye"), text
    assert provider.whoami(browser) == 401
    told("single logout by the user")


what, folder, *rest = sys.argv[1:]
if what == "metadata":
    make_key(pathlib.Path(folder))
    print(entity_descriptor(config(pathlib.Path(folder))))
else:
    drive(pathlib.Path(folder), *rest)
