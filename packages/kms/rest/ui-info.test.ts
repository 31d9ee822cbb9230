import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Secret, version } from '@warder/base'
import { startKms } from '../testing/start.ts'

test('what the page needs before a login names the configured logins, and nothing else', async () => {
  await using alone = await startKms()
  const answer = await alone.with({}).get('/ui/info')
  const sha256 = new X509Certificate(alone.ca).fingerprint256
  const shared = { service: 'kms', version, authority_sha256: sha256 }
  assert.deepEqual(answer.json, {
    ...{ ...shared, other: null, ways: [], realms: [] },
    has_credential: false,
  })
  for (const headers of [{ cookie: 'auth_session=any' }, { authorization: 'Bearer any' }])
    assert.equal((await alone.with(headers).get('/ui/info')).json.has_credential, true)
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.ok(!alone.audit.some(({ operation }) => operation === 'ui.info'))
  await using both = await startKms({
    peerSecret: Secret.fromText('the secret of both services'),
    config: {
      auth_verifier_url: 'https://127.0.0.1:1/',
      'ui_config.ui_oidc_auth.ui_oidc_issuer_url': 'https://127.0.0.1:1',
      'ui_config.ui_oidc_auth.ui_oidc_client_id': 'warder',
    },
  })
  const json = (await both.with({}).get('/ui/info')).json
  assert.deepEqual(json.other, { service: 'auth', url: 'https://127.0.0.1:1' })
  assert.deepEqual([json.ways, json.realms], [['handover', 'password', 'saml', 'openid'], []])
})

test('the certificate of the local authority is offered without its key, where the service has one', async () => {
  await using kms = await startKms()
  const file = join(kms.home, 'tls', 'ca.crt')
  appendFileSync(file, readFileSync(join(kms.home, 'tls', 'ca.key')))
  const { status, text, headers } = await kms.with({}).get('/ui/authority.crt')
  assert.equal(status, 200, text)
  assert.equal(text, new X509Certificate(kms.ca).toString())
  assert.doesNotMatch(text, /PRIVATE/)
  assert.deepEqual(
    [headers['content-type'], headers['content-disposition']],
    ['application/x-pem-file', 'attachment; filename="warder-authority.crt"'],
  )
  const config = { tls_cert_file: 'own.crt', tls_key_file: 'own.key' }
  await using own = await startKms({ config: { ...config } as object })
  const refused = await own.with({}).get('/ui/authority.crt')
  assert.equal(refused.status, 404)
  assert.match(
    refused.json.description,
    /not of a local authority: clients trust the authority that issued it/,
  )
  assert.equal((await own.with({}).get('/ui/info')).json.authority_sha256, null)
})
