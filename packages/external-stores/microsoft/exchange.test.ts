import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { version } from '@warder/base'
import { startKms } from '@warder/kms/testing'
import { deactivate } from '../testing/deactivate.ts'
import { startIssuers } from '../testing/issuers.ts'
import {
  currentKid,
  encrypted,
  type MicrosoftWorld,
  olderKid,
  owner,
  secret,
  serviceUrl,
  startMicrosoft,
} from './testing/world.ts'

let world: MicrosoftWorld
before(async () => {
  world = await startMicrosoft()
})
after(() => world[Symbol.asyncDispose]())

const body = (value: string) => ({ alg: 'RSA-OAEP-256', value })

/** Protocols/PublicKey.Response.json of Microsoft's sample. */
const samplePublicKey = {
  key: {
    kty: 'RSA',
    n: 'wP4ir0aynve6Cpv3ZcBo5+HDue7OA6ogQetNkql1ptfKXilQ2N6x+wDTszcrJlb672l+ckUV5Gjn+ohhFUh0hx6B3rTNKVyxJiGq8S+MRXrTl0UGjWjFED7fYZ2nYZPigu1VHdm3HgBVZdeR8TMr1uIjDHxhWgen2utnTvacn5r8X079ImwpbhilrYBUvt9q42r/CxRp+axsMY3ozkGYsSZ/vXsgjSN0Nbn+9cwHi+XeE2PcjAOnaxUTKVcxjcZvRE+y2FcwgT+nVfJub4ZvRjz9lAbhdDNUS2ZrisAtHVRWJx1ArAMHH7OYg41LoA9+wmBoB04cEzi3JkJkqNCwtw==',
    e: 65537,
    alg: 'RS256',
    kid: 'https://localhost:5001/TestKey1/F2DBF8CB-7B06-4ABA-B93A-CACAD13CD7BB',
  },
  cache: { exp: '2020-11-21T21:15:55' },
}

/** Protocols/Decrypt.Request.json of Microsoft's sample. */
const sampleDecryptRequest = {
  alg: 'RSA-OAEP-256',
  value:
    'rga6Ky1ddzkj0ujL7gLSSlO6fNByLrGdvPPp1Vh+KryzEZCzUIsbLRIvKUXzB+u6WuPl5JqJj0CZpc7bAFr9rpXaQJEkyPeg7xcfm17n4K2lIppUlBH6pfqVNwJnv+N5jbAmYh6kxV41VB4GJNVS7xhmYOX2ggH+OybQtNQTg6RNMMSDl91n2Tj+gws2Qx0jRGo0WksmRDGgTYEUn5ebl3Kog8jkchvVDDJWfPZ9AsFSigRxMTM3A2KlXfb7AgW9InILGgVZNeQxVKhD8fNHrGzuzN0CupLYgqUA/wtgGrhd9UihybeMbhDALIOonDHz/BL1xryLLzD+7cyd1gryqw==',
}

/** The types of all members, in their order. */
const shapeOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).map(([name, member]) => [name, shapeOf(member)])
    : typeof value

test('the public key has the members, order and number forms of the sample', async () => {
  const before = Date.now()
  const { status, json, text, headers } = await world.publicKey()
  assert.equal(status, 200, text)
  assert.match(headers['content-type'] ?? '', /^application\/json/)
  assert.deepEqual(shapeOf(json), shapeOf(samplePublicKey))
  assert.equal(json.key.kty, 'RSA')
  assert.equal(json.key.alg, 'RS256')
  assert.equal(json.key.e, 65537)
  assert.equal(json.key.n.length, samplePublicKey.key.n.length, 'padded base64 of 256 bytes')
  assert.equal(json.key.kid, `${serviceUrl}/finance/${currentKid}`)
  assert.match(json.cache.exp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
  const kept = Date.parse(`${json.cache.exp}Z`) - before
  assert.ok(Math.abs(kept - 86_400_000) < 5000, 'a day, in UTC')
})

test('what Office encrypts for the public key is decrypted for its user', async () => {
  const value = encrypted(await world.publicKey())
  const answer = await world.decrypt(await world.token(), body(value))
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json, { value: secret.toString('base64') })
  const record = world.kms.audit.at(-1)
  assert.equal(record?.operation, 'ms_dke.decrypt')
  assert.equal(record?.principal, 'microsoft:alice@contoso.com')
  assert.equal(record?.auth_method, 'ms_dke')
  assert.equal(record?.object, currentKid)
  assert.deepEqual(record?.details, { key_name: 'finance' })
})

test("the request of the sample is read, and does not open with another's key", async () => {
  const { status, json } = await world.decrypt(await world.token(), sampleDecryptRequest)
  assert.deepEqual([status, json.error], [400, 'decryption_failed'])
})

test("the address of decryption is read in every case, and records have the client's request id", async () => {
  const value = encrypted(await world.publicKey())
  const kms = world.kms.with({
    authorization: `bearer ${await world.token()}`,
    'client-request-id': '8b3ff7b3-9a2b-4f0e-8f9c-0b1f3b1c2d3e',
  })
  for (const action of ['decrypt', 'Decrypt', 'DECRYPT'])
    assert.equal((await kms.post(`/ms_dke/finance/${currentKid}/${action}`, body(value))).status, 200)
  const { details } = world.kms.audit.at(-1) ?? {}
  assert.equal(details?.vendor_request_id, '8b3ff7b3-9a2b-4f0e-8f9c-0b1f3b1c2d3e')
  assert.equal((await kms.post(`/ms_dke/finance/${currentKid}/encrypt`, body(value))).status, 400)
})

test('without a hint to cache the member is left out', async () => {
  await using uncached = await startMicrosoft({ config: { 'ms_dke_config.ms_dke_cache_days': 0 } })
  assert.deepEqual(Object.keys((await uncached.publicKey()).json), ['key'])
})

test('older versions decrypt, and the current one alone is given out', async () => {
  await using older = await startMicrosoft({
    config: { 'ms_dke_config.ms_dke_keys': [`finance=${olderKid}`] },
  })
  const before = encrypted(await older.publicKey())
  await using now = await startMicrosoft({
    issuers: older.issuers,
    db: older.kms.environment.db,
    seal: older.kms.environment.seal,
    keys: false,
  })
  const answer = await now.publicKey()
  assert.equal(answer.json.key.kid, `${serviceUrl}/finance/${currentKid}`)
  const token = await now.token()
  assert.deepEqual((await now.decrypt(token, body(before), olderKid)).json.value, secret.toString('base64'))
  const fresh = encrypted(answer)
  assert.deepEqual((await now.decrypt(token, body(fresh))).json.value, secret.toString('base64'))
  assert.equal((await now.decrypt(token, body(before))).status, 400, 'the wrong version')
  // A version that was deactivated protects nothing new and still decrypts what it protected.
  await deactivate(now.kms, owner, olderKid)
  assert.equal((await now.decrypt(token, body(before), olderKid)).status, 200)
  await deactivate(now.kms, owner, currentKid)
  assert.equal((await now.publicKey()).status, 400)
})

test('it is off by default, and listed with its addresses where it is on', async () => {
  await using plain = await startKms()
  assert.equal((await plain.with({}).get('/ms_dke/finance')).status, 404)
  const { external_stores } = (await world.kms.user('alice').get('/server-info')).json
  assert.deepEqual(external_stores, [
    {
      name: 'microsoft',
      service_url: serviceUrl,
      key_urls: [`${serviceUrl}/finance`],
      keys: { finance: currentKid },
      stopped: false,
    },
  ])
})

test('stopped, it gives out no key and decrypts nothing, from the next request on', async () => {
  await using other = await startMicrosoft()
  const value = encrypted(await other.publicKey())
  const admin = other.kms.user('admin')
  assert.equal((await admin.post('/v1/external-stores/microsoft/stop', {})).status, 200)
  assert.equal((await other.publicKey()).status, 403)
  assert.equal((await other.decrypt(await other.token(), body(value))).status, 403)
  assert.equal((await admin.post('/v1/external-stores/microsoft/start', {})).status, 200)
  assert.equal((await other.decrypt(await other.token(), body(value))).status, 200)
})

test('all users together make as many requests as its limit says, and who fetches public keys takes none of theirs', async () => {
  let time = 0
  const clock = { now: () => Date.now(), monotonic: () => time }
  const limit = { 'ms_dke_config.ms_dke_rate_limit_per_second': 2 }
  await using slow = await startMicrosoft({ issuers: world.issuers, config: limit, clock })
  const token = await slow.token()
  const value = encrypted(await slow.publicKey())
  const fetched = []
  for (let index = 0; index < 3; index += 1) fetched.push((await slow.publicKey()).status)
  assert.deepEqual(fetched, [200, 429, 429])
  assert.equal((await slow.decrypt(token, body(value))).status, 200)
  assert.equal((await slow.decrypt(token, body(value))).status, 200)
  const { status, headers } = await slow.decrypt(token, body(value))
  assert.deepEqual([status, headers['retry-after']], [429, '1'])
  assert.equal((await slow.decrypt(undefined, body(value))).status, 401, 'who is nobody is not counted')
  time += 1000
  assert.equal((await slow.decrypt(token, body(value))).status, 200)
})

test('the version is told where no label names a key so', async () => {
  assert.equal((await world.publicKey('version')).text, JSON.stringify(version))
  const keys = [`version=${currentKid}`]
  await using named = await startMicrosoft({
    issuers: world.issuers,
    config: { 'ms_dke_config.ms_dke_keys': keys },
  })
  assert.equal((await named.publicKey('version')).json.key.kty, 'RSA')
})

test('pages of any origin may ask, without cookies', async () => {
  const origin = 'https://office.com'
  const answer = await world.kms.with({ origin }).get('/ms_dke/finance')
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  assert.equal(answer.headers['access-control-allow-credentials'], undefined)
})

test('keys of Entra are fetched once, and outlive its outage', async () => {
  await using issuers = await startIssuers()
  let ahead = 0
  const clock = { now: () => Date.now() + ahead, monotonic: () => performance.now() + ahead }
  await using far = await startMicrosoft({ issuers, clock })
  const value = encrypted(await far.publicKey())
  const ask = async () => (await far.decrypt(await far.token(), body(value))).status
  assert.deepEqual([await ask(), await ask(), await ask()], [200, 200, 200])
  assert.equal(issuers.requests.length, 1)
  issuers.up = false
  for (let day = 0; day < 3; day += 1) {
    ahead += 86_400_000
    assert.equal(await ask(), 200)
  }
})
