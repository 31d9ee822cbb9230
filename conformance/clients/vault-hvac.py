"""Drives the machine API with hvac: one line for each step that worked, in JSON. Arguments: url ca token kms."""

import json
import sys

import hvac
from hvac import exceptions

url, ca, token, kms = sys.argv[1:5]


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


admin = hvac.Client(url=url, token=token, verify=ca)
roles = admin.auth.approle
assert admin.is_authenticated()
told("lookup self", policies=admin.auth.token.lookup_self()["data"]["policies"])

roles.create_or_update_approle("till", token_policies=["sales", "stock"], token_ttl="1h", secret_id_ttl="2d")
roles.create_or_update_approle("printer", token_policies=["print"], token_ttl=60, bind_secret_id=True)
told("list roles", keys=roles.list_roles()["data"]["keys"])
told("read role", **roles.read_role("till")["data"])
role_id = roles.read_role_id("till")["data"]["role_id"]
told("read role id")

first = roles.generate_secret_id("till")["data"]
second = roles.generate_secret_id("till")["data"]
told("generate secret ids")
found = roles.list_secret_id_accessors("till")["data"]["keys"]
assert sorted(found) == sorted([first["secret_id_accessor"], second["secret_id_accessor"]])
told("list accessors")
by_value = roles.read_secret_id("till", first["secret_id"])["data"]
by_accessor = roles.read_secret_id_accessor("till", first["secret_id_accessor"])["data"]
assert by_value == by_accessor
told("look a secret id up")

machine = hvac.Client(url=url, verify=ca)
login = machine.auth.approle.login(role_id, first["secret_id"])["auth"]
told("log in", policies=login["policies"], lease=login["lease_duration"])
assert machine.auth.token.lookup_self()["data"]["ttl"] <= 3600
machine.auth.token.renew_self()
told("renew self")
refused("administration without the policy", exceptions.Forbidden, machine.auth.approle.list_roles)
machine.auth.token.revoke_self()
refused("after revoke self", exceptions.Forbidden, machine.auth.token.lookup_self)

# The same life, with the address of the kms alone.
through = hvac.Client(url=kms, verify=ca)
login = through.auth.approle.login(role_id, second["secret_id"])["auth"]
assert login["policies"] == ["sales", "stock"]
assert through.auth.token.lookup_self()["data"]["ttl"] <= 3600
through.auth.token.renew_self()
refused("administration through the kms", exceptions.InvalidPath, through.auth.approle.list_roles)
through.auth.token.revoke_self()
refused("through the kms, after revoke self", exceptions.Forbidden, through.auth.token.lookup_self)

roles.destroy_secret_id_accessor("till", first["secret_id_accessor"])
roles.destroy_secret_id("till", second["secret_id"])
for secret in (first, second):
    refused("a destroyed secret id", exceptions.InvalidRequest, lambda: roles.login(role_id, secret["secret_id"]))
roles.delete_role("till")
refused("a deleted role", exceptions.InvalidPath, lambda: roles.read_role("till"))
refused(
    "a policy over roles",
    exceptions.Forbidden,
    lambda: roles.create_or_update_approle("more", token_policies=["machine-roles-admin"]),
)
