import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kmsSettings } from '@warder/kms/settings'
import { loadConfig, toEnvName } from './load.ts'

const load = (key: keyof typeof kmsSettings, value: string) =>
  loadConfig({
    service: 'kms',
    table: kmsSettings,
    file: '/nowhere/kms.toml',
    env: { [toEnvName('kms', key, kmsSettings[key])]: value },
    args: [],
  }).values[key]

test('addresses that cannot work are refused where the settings are read, by the name of the setting', () => {
  const rows: [keyof typeof kmsSettings, string, RegExp][] = [
    [
      'jwt_auth_provider',
      'http://a.example',
      /has the key set http:\/\/a\.example\/\.well-known\/jwks\.json, /,
    ],
    ['jwt_auth_provider', 'https://a.example,http://a.example/keys', /has the key set http:/],
    [
      'jwt_auth_provider',
      'https://a.example;,https://b.example',
      /must contain an issuer at the start of each entry/,
    ],
    [
      'jwt_auth_provider',
      'spiffe://a.example,file:keys.json',
      /must contain an audience for spiffe:\/\/a\.example/,
    ],
    ['jwt_auth_provider', 'spiffe://a.example,,warder', /must contain a key set for spiffe:\/\/a\.example/],
    ['auth_verifier_jwks', 'http://a.example/keys', /must be an https address or file:/],
    ['auth_verifier_jwks', 'keys.json', /must be an https address or file:/],
    ['auth_verifier_url', 'http://a.example', /must begin with https:/],
    ['vault_auth_verifier_url', 'a.example', /must begin with https:/],
    ['kms_public_url', 'http://a.example', /must begin with https:/],
    ['auth_public_url', 'http://a.example', /must begin with https:/],
    ['ui_config.ui_oidc_auth.ui_oidc_issuer_url', 'https://', /must begin with https:/],
    ['role_sources', 'Corp,jwt,https://a.example,groups', /must begin each source with its name: 1 to 32/],
    ['role_sources', `${'a'.repeat(33)},session,eng`, /must begin each source with its name/],
    ['role_sources', 'a/b,session,eng', /must begin each source with its name/],
    ['role_sources', ',session,eng', /must begin each source with its name/],
    ['role_sources', 'corp', /must name the kind of corp: jwt, session or certificate/],
    ['role_sources', 'corp,saml,eng', /must name the kind of corp/],
    ['role_sources', 'corp,jwt,,groups', /must have the form corp,jwt,ISSUER,CLAIM/],
    ['role_sources', 'corp,jwt,https://a.example', /must name the claim of corp/],
    ['role_sources', 'corp,jwt,https://a.example,a..b', /must name the claim of corp/],
    ['role_sources', 'corp,jwt,https://a.example,/a~2b', /must name the claim of corp/],
    ['role_sources', 'corp,jwt,https://a.example,a,b,c', /must have the form corp,jwt,ISSUER,CLAIM/],
    ['role_sources', 'corp,session,a b', /must have the form corp,session,REALM/],
    ['role_sources', 'corp,certificate,ou,,ca.pem,x', /must have the form corp,certificate,FIELD/],
    ['role_sources', 'corp,certificate,cn', /must have the form corp,certificate,FIELD.*ou, san-uri/],
    ['role_sources', 'corp,session,_;corp,session,eng', /must name each source once: corp is repeated/],
  ]
  for (const [key, value, line] of rows) {
    assert.throws(
      () => load(key, value),
      (error: Error) => {
        assert.equal(error.name, 'StartupError')
        assert.ok(error.message.includes(toEnvName('kms', key, kmsSettings[key])), error.message)
        assert.match(error.message, line)
        return true
      },
    )
  }
})

test('addresses that can work are read as they are', () => {
  const sources =
    'corp,jwt,https://a.example,realm_access.roles,warder-;s,session,_;web,certificate,san-uri,x://y/,ca.pem'
  assert.deepEqual(load('role_sources', sources), sources.split(';'))
  assert.equal(load('auth_verifier_jwks', 'file:jwks.json'), 'file:jwks.json')
  assert.equal(load('auth_verifier_url', 'https://a.example/'), 'https://a.example/')
  assert.deepEqual(load('jwt_auth_provider', 'a name,file:/keys.json;spiffe://b,https://b/keys,warder'), [
    'a name,file:/keys.json',
    'spiffe://b,https://b/keys,warder',
  ])
})
