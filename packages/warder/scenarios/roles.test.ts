import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type HttpsClient, httpsClient } from '@warder/command-line/https-client'
import { issueCertificate, nameFromParts, profileExtensions, readCertificate } from '@warder/pki'
import { type Installation, runWarder, startInstallation } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

let warder: Installation
let auth: HttpsClient
let kms: HttpsClient
let admin: string
/** Path of a key of the administrator. */
let key: string

before(async () => {
  const sources = 'staff,session,eng;guests,session,shop;units,certificate,ou'
  warder = await startInstallation({ env: { KMS_ROLE_SOURCES: sources } })
  auth = warder.client('auth')
  kms = warder.client('kms')
  admin = await warder.adminToken()
  for (const id of ['eng', 'shop', 'other'])
    await change('POST', '/admins/realms', {
      id,
      auth_params: { username_password_params: { allow_expired_passwords: false } },
      session_max_age_seconds: 3600,
      session_max_stale_age_seconds: 600,
    })
  const json = { kty: 'oct', alg: 'A256GCM' }
  const made = await kms.ask('/v1/crypto/keys', { json, headers: { authorization: `Bearer ${admin}` } })
  key = `/v1/crypto/keys/${(made.json as { kid: string }).kid}`
})
after(async () => {
  auth.close()
  kms.close()
  await warder.stop()
})

/** A change at the authentication service by its administrator. */
async function change(method: string, path: string, json: unknown): Promise<void> {
  const answer = await auth.ask(path, { method, json, headers: { cookie: `_ea_=${admin}` } })
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
}

const password = 'correct horse battery staple'
const credential = (username: string, roles: readonly string[]) => ({
  username,
  password_input: { plaintext: password },
  roles,
})

async function logIn(realm: string, username: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const answer = await auth.ask(`/login?realm=${realm}`, { json: {}, headers: { authorization } })
  const token = /_ea_=([^;]+)/.exec(String(answer.headers['set-cookie']))?.[1]
  assert.ok(token !== undefined, answer.text)
  return token
}

/** Status of the key for a bearer token. */
const read = async (token: string): Promise<number> =>
  (await kms.ask(key, { headers: { authorization: `Bearer ${token}` } })).status

async function setGrant(user_id: string, verb: 'grant' | 'revoke'): Promise<void> {
  const json = { unique_identifier: key.split('/').at(-1), user_id, operation_types: ['get_attributes'] }
  const answer = await kms.ask(`/access/${verb}`, { json, headers: { authorization: `Bearer ${admin}` } })
  assert.equal(answer.status, 200, answer.text)
}

test('a user reaches a key by a role of the realm alone, until the right, the role or the session ends', async () => {
  await change('POST', '/realms/eng/userpass', credential('ann', ['auditor']))
  await change('POST', '/realms/eng/userpass', credential('bob', ['Auditor', 'staff/auditor']))
  await change('POST', '/realms/shop/userpass', credential('eve', ['auditor']))
  await change('POST', '/realms/other/userpass', credential('mallory', ['auditor', 'role:staff/auditor']))
  const users = ['eng/ann', 'eng/bob', 'shop/eve', 'other/mallory']
  const tokens = await Promise.all(users.map((user) => logIn(...(user.split('/') as [string, string]))))
  const statuses = () => Promise.all(tokens.map(read))
  assert.deepEqual(await statuses(), [404, 404, 404, 404])
  await setGrant('role:staff/auditor', 'grant')
  assert.deepEqual(await statuses(), [200, 404, 404, 404])

  const [ann = ''] = tokens
  const me = await kms.ask('/me', { headers: { authorization: `Bearer ${ann}` } })
  assert.deepEqual(me.json, { user: 'eng/ann', roles: ['role:staff/auditor'] })
  // The web page, whose session at the authentication service is over at once.
  const web = await kms.ask('/ui/login', { json: { username: 'eng/ann', password } })
  const [cookie = ''] = String(web.headers['set-cookie']).split(';')
  assert.equal((await kms.ask(key, { headers: { cookie } })).status, 200)

  await setGrant('role:staff/auditor', 'revoke')
  assert.deepEqual(await statuses(), [404, 404, 404, 404])
  await setGrant('role:staff/auditor', 'grant')

  // A session keeps the roles that it began with; its end is what takes them.
  await change('PUT', '/realms/eng/userpass/ann', { ...credential('ann', []), password_input: undefined })
  assert.deepEqual([await read(ann), await read(await logIn('eng', 'ann'))], [200, 404])
  await change('DELETE', '/sessions/realms/eng', undefined)
  await until('the sessions have ended', async () => (await read(ann)) === 401)
  await until(
    'that of the web page, too',
    async () => (await kms.ask(key, { headers: { cookie } })).status === 401,
  )
  await setGrant('role:staff/auditor', 'revoke')
})

test('a certificate reaches a key by its organizational unit alone', async () => {
  await setGrant('role:units/auditor', 'grant')
  const statuses: number[] = []
  for (const unit of ['auditor', 'auditors', undefined]) {
    const client = httpsClient(warder.kmsUrl, warder.caFile, undefined, await certificate(unit))
    statuses.push((await client.ask(key)).status)
    client.close()
  }
  assert.deepEqual(statuses, [200, 404, 404])
})

/** A client certificate of the local authority. */
async function certificate(
  unit: string | undefined,
): Promise<{ readonly cert: string; readonly key: string }> {
  const authority = new X509Certificate(readFileSync(warder.caFile))
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = pair.publicKey.export({ format: 'der', type: 'spki' })
  const raw = await issueCertificate(
    {
      subject: nameFromParts([...(unit === undefined ? [] : [['OU', unit] as const]), ['CN', 'web1']]),
      spki,
      notBefore: Date.now() - 60_000,
      notAfter: Date.now() + 600_000,
      extensions: profileExtensions('client', { spki }),
    },
    {
      name: readCertificate(authority.raw).subject,
      key: createPrivateKey(readFileSync(join(warder.home, 'tls', 'ca.key'))),
      spki: authority.publicKey.export({ format: 'der', type: 'spki' }),
      keyIdentifier: undefined,
    },
  )
  return {
    cert: new X509Certificate(raw).toString(),
    key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

test('the check of the settings names a source whose issuer or realm is not accepted', async () => {
  for (const [source, line] of [
    ['corp,jwt,https://idp.test,groups', /role_sources: corp names the issuer https:\/\/idp\.test/],
    ['corp,session,a b', /must have the form corp,session,REALM/],
  ] as const) {
    const { code, err, out } = await runWarder(['config', 'check', '--home', warder.home], {
      KMS_ROLE_SOURCES: source,
    })
    assert.notEqual(code, 0)
    assert.match(`${out}${err}`, line)
  }
})
