import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kmsSettings } from '@warder/kms/settings'
import { type StartOptions, startKms } from '@warder/kms/testing'

type Config = NonNullable<StartOptions['config']>

const verifier = {
  issuer: { auth_verifier_issuer: 'https://auth.test' },
  realm: { auth_verifier_realm: 'people' },
  ca: { auth_verifier_ca_cert: 'tls/ca.crt' },
} satisfies Record<string, Config>
const secret: Config = { 'ui_config.ui_oidc_auth.ui_oidc_client_secret': 'a secret' }
const provider: Config = { jwt_auth_provider: ['https://idp.test,file:jwks.json'] }

const everybody = /no authentication method is configured: every caller/

test('half of a method stops the start, and the line says which half is missing', async () => {
  const verifiers = 'auth_verifier_url or auth_verifier_jwks'
  const rows: [Config, string][] = [
    [verifier.issuer, `auth_verifier_issuer requires ${verifiers}`],
    [verifier.realm, `auth_verifier_realm requires ${verifiers}`],
    [
      verifier.ca,
      'auth_verifier_ca_cert requires auth_verifier_url, auth_verifier_jwks or vault_auth_verifier_url',
    ],
    [{ ...provider, ...verifier.issuer }, `auth_verifier_issuer requires ${verifiers}`],
    [{ ...provider, ...secret }, 'ui_oidc_client_secret requires ui_oidc_issuer_url and ui_oidc_client_id'],
    [secret, 'ui_oidc_client_secret requires ui_oidc_issuer_url and ui_oidc_client_id'],
  ]
  for (const [config, line] of rows) {
    await assert.rejects(startKms({ tokens: false, config }), (error: Error) => {
      assert.equal(error.name, 'StartupError')
      assert.ok(error.message.includes(line), error.message)
      assert.ok(!error.message.includes('a secret'))
      return true
    })
  }
})

test('whole methods start, let nobody in without a credential, and are not warned about', async () => {
  const whole: Config[] = [
    { auth_verifier_url: 'https://127.0.0.1:1', ...verifier.issuer, ...verifier.realm, ...verifier.ca },
    { auth_verifier_jwks: 'file:jwks.json', ...verifier.issuer, ...verifier.realm },
    { vault_auth_verifier_url: 'https://127.0.0.1:1', ...verifier.ca },
    { clients_ca_cert_file: 'tls/ca.crt' },
    { api_token_id: 'key' },
    provider,
    {
      'ui_config.ui_oidc_auth.ui_oidc_issuer_url': 'https://idp.test',
      'ui_config.ui_oidc_auth.ui_oidc_client_id': 'warder',
      ...secret,
    },
  ]
  for (const config of whole) {
    await using kms = await startKms({ tokens: false, config })
    assert.equal((await kms.with({}).get('/me')).status, 401, JSON.stringify(config))
    assert.doesNotMatch(kms.log.join('\n'), everybody)
  }
})

test('that everybody is let in is said in the log', async () => {
  await using kms = await startKms({ tokens: false })
  assert.match(kms.log.join('\n'), everybody)
})

test('force_default_username without a method lets nobody in, and the log says so (§5 rule 2)', async () => {
  await using kms = await startKms({ tokens: false, config: { force_default_username: true } })
  for (const headers of [{}, { authorization: `Bearer ${kms.token({ sub: 'admin' })}` }])
    assert.equal((await kms.with(headers).get('/me')).status, 401)
  assert.equal((await kms.with({}).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).status, 401)
  assert.equal((await kms.with({}).post('/kmip/2_1', {})).status, 401)
  assert.match(kms.log.join('\n'), /force_default_username is set, but no .* every request is refused/)
})

test('the realm of the first run without its authentication service leaves client certificates, and a warning', async () => {
  await using kms = await startKms({ tokens: false, clientCertificates: true, config: verifier.realm })
  assert.equal((await kms.with({}).get('/me')).status, 401)
  assert.equal((await kms.certified().get('/me')).json.user, 'kmip-client')
  assert.match(kms.log.join('\n'), /auth_verifier_realm has no effect/)
})

test('crypto officers are named users, not groups or roles', () => {
  const problem = (names: readonly string[]) => kmsSettings['roles.crypto_officer_users'].check?.(names)
  assert.equal(problem(['ann', 'app:ops', 'corp/ben']), undefined)
  for (const name of ['group:ops', 'Role:corp/x', 'GROUP:ops'])
    assert.match(problem(['ann', name]) ?? '', /users, not groups or roles/, name)
})

test('the default user has a name that a user can have', () => {
  const problem = (name: string) => kmsSettings.default_username.check?.(name)
  for (const name of ['admin', 'ann@example.com', 'Zoë', 'x'.repeat(256)])
    assert.equal(problem(name), undefined)
  for (const name of [
    '',
    '*',
    ' admin',
    'admin ',
    'ad\u200bmin',
    'app:till',
    'spiffe://td/x',
    'x'.repeat(257),
  ])
    assert.match(problem(name) ?? '', /a valid user name/, name)
})
