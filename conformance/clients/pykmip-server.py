"""Runs PyKMIP's server until its standard input ends. It prints its port and the identifier of a new AES-256 key, in JSON.
Arguments: ca, certificate and key of the server, certificate and key of a client, folder."""

import json
import os
import signal
import socket
import sys
import threading

from kmip.core import enums
from kmip.pie import client
from kmip.services.server import KmipServer

ca, server_cert, server_key, cert, key, folder = sys.argv[1:7]
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

server = KmipServer(
    hostname="127.0.0.1",
    port=port,
    certificate_path=server_cert,
    key_path=server_key,
    ca_path=ca,
    auth_suite="TLS1.2",
    config_path=None,
    log_path=os.path.join(folder, "pykmip.log"),
    policy_path=folder,
    enable_tls_client_auth=True,
    logging_level="INFO",
    database_path=os.path.join(folder, "pykmip.database"),
)


def create_key():
    with client.ProxyKmipClient(
        hostname="127.0.0.1", port=port, ca=ca, cert=cert, key=key, kmip_version=enums.KMIPVersion.KMIP_1_4
    ) as kmip:
        masks = enums.CryptographicUsageMask
        uid = kmip.create(enums.CryptographicAlgorithm.AES, 256, cryptographic_usage_mask=[masks.ENCRYPT, masks.DECRYPT])
        kmip.activate(uid)
    print(json.dumps({"port": port, "key": uid}), flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


server.start()
threading.Thread(target=create_key, daemon=True).start()
server.serve()
# With its own processes.
server.stop()
