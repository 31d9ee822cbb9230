import assert from 'node:assert/strict'
import { interval, Tag } from '@warder/kmip-codec'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import { openToken } from '@warder/pkcs11'
import { createSofthsmToken, missingSofthsm, type SofthsmToken } from '@warder/pkcs11/testing'
import { until } from '../../../testing/until.ts'
import { type Walked, type Walker, walkerOf } from './walked-installation.ts'

const aes = { kty: 'oct', alg: 'A256GCM' }
const direct = { alg: 'dir', enc: 'A256GCM' }
const data = Buffer.from('attack at dawn').toString('base64url')
const keys = '/v1/crypto/keys'

/** Keys and what is done with them, over REST. Destruction of a key with the tag `waits` has to wait. */
export async function walkKeys({ user, admin, wire }: Walked): Promise<void> {
  const anonymous = walkerOf(wire('kms'))
  for (const path of ['/health', '/version', '/.well-known/jwks.json']) await anonymous.get(path)
  await anonymous.post('/unseal', { share: 'none' })
  const alice = await user('alice')
  for (const path of ['/server-info', '/hsm/status', '/me', '/access/create', '/access/privileged'])
    await alice.get(path)
  const make = async (json: object): Promise<string> => (await alice.post(keys, json)).json.kid
  const kid = await make(aes)
  await alice.get(keys)
  await alice.get(`${keys}/${kid}`)
  await alice.patch(`${keys}/${kid}`, { deactivation_at: '2099-01-01T00:00:00Z' })
  const sealed = (await alice.post('/v1/crypto/encrypt', { kid, ...direct, data })).json
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed)).json.data, data)
  await alice.post('/v1/crypto/batch', { operations: [{ op: 'encrypt', kid, ...direct, data }] })
  await alice.post('/v1/crypto/datakey', { kid, ...direct })
  const signing = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const signed = (await alice.post('/v1/crypto/sign', { kid: signing, alg: 'ES256', data })).json
  assert.equal((await alice.post('/v1/crypto/verify', { ...signed, data })).json.valid, true)
  const hmac = await make({ kty: 'oct', alg: 'HS256' })
  await alice.post('/v1/crypto/mac', { kid: hmac, alg: 'HS256', data })
  const rsa = await make({ kty: 'RSA', bits: 2048 })
  const wrapped = (
    await alice.post('/v1/crypto/encrypt', { kid: rsa, alg: 'RSA-OAEP-256', enc: 'A256GCM', data })
  ).json
  const { protected: header, encrypted_key } = wrapped
  await alice.post(`${keys}/unwrap`, { protected: header, encrypted_key })
  await walkVersions(alice, kid, sealed)
  const master = await make({
    kty: 'ABE',
    alg: 'ABE',
    access_structure: { 'Level::<': ['Low', 'High'] },
  })
  await alice.get(`${keys}/${master}/structure`)

  const aliases = '/v1/crypto/aliases'
  await alice.post(aliases, { alias: 'invoices', kid })
  await alice.get(aliases)
  await alice.get(`${aliases}/invoices`)
  await alice.put(`${aliases}/invoices`, { kid: hmac })
  await alice.del(`${aliases}/invoices`)
  const tags = { tags: ['prod'] }
  await alice.post(`${keys}/${kid}/tags`, tags)
  await alice.get(`${keys}/${kid}/tags`)
  await alice.del(`${keys}/${kid}/tags`, tags)
  await alice.post(`${keys}/${kid}/disable`)
  await alice.post(`${keys}/${kid}/enable`)
  await alice.get(`${keys}/${kid}/uses`)
  const waits = await make({ ...aes, tags: ['waits'] })
  assert.equal((await alice.del(`${keys}/${waits}`)).status, 202)
  await alice.post(`${keys}/${waits}/restore`)
  assert.equal((await alice.del(`${keys}/${hmac}`)).status, 204)
  await walkAccess(alice, kid, await user('bob'), admin.kms)
  await admin.kms.del('/v1/audit/nodes/retired')
  for (const path of ['records', 'export', 'verify']) await admin.kms.get(`/v1/audit/${path}`)
  await admin.kms.get('/v1/health/details')
  await admin.kms.get('/v1/audit/counts?since=2026-11-01T00:00:00Z&step=day')
  await wire('kms').post('/v1/audit/node', { type: 'verify' })
  await admin.kms.post('/v1/notices/test', {})
}

/** A token with a key that the service does not know, and the settings of an HSM with it; undefined without SoftHSM. */
export async function createWalkedHsm(): Promise<
  { readonly softhsm: SofthsmToken; readonly env: Readonly<Record<string, string>> } | undefined
> {
  if (missingSofthsm !== false) return undefined
  const softhsm = createSofthsmToken()
  const { library, label, pinFile, env } = softhsm
  const token = await openToken({ library, token: { label }, pinFile, env })
  await token.generateKey('theirs')
  await token.close()
  const hsm = { name: 'main', library, token_label: label, pin_file: pinFile, admins: ['admin', 'alice'] }
  const { SOFTHSM2_CONF = '' } = env
  return { softhsm, env: { SOFTHSM2_CONF, KMS_HSM: JSON.stringify(hsm) } }
}

/** Lists the keys of an HSM, and registers one. */
export async function walkHsm({ user }: Walked): Promise<void> {
  const alice = await user('alice')
  const ofHsm = '/v1/crypto/hsms/main/keys'
  assert.equal((await alice.get(ofHsm)).json.total, 1)
  const { kid } = (await alice.post(ofHsm, { label: 'theirs' })).json
  await alice.post('/v1/crypto/encrypt', { kid, ...direct, data })
  const wrapping = '/v1/crypto/hsms/main/wrapping'
  assert.deepEqual((await alice.get(wrapping)).json.keys, [])
  await alice.post(wrapping, {})
}

async function walkVersions(alice: Walker, kid: string, sealed: object): Promise<void> {
  const path = `${keys}/${kid}`
  await alice.put(`${path}/rotation`, { rotate_every: 90 * 86_400 })
  await alice.get(`${path}/rotation`)
  await alice.post(`${path}/rotate`, {})
  await alice.post('/v1/crypto/rewrap', sealed)
  await alice.get(`${path}/versions`)
  const act = (version: number, verb: string) => alice.post(`${path}/versions/${version}/${verb}`, {})
  await act(1, 'disable')
  await act(1, 'enable')
  await act(1, 'revoke')
  await act(1, 'destroy')
  const waits = (await alice.post(keys, { ...aes, tags: ['waits'] })).json.kid
  await alice.post(`${keys}/${waits}/rotate`, {})
  await alice.post(`${keys}/${waits}/versions/1/destroy`, {})
  await alice.post(`${keys}/${waits}/versions/1/restore`, {})
}

async function walkAccess(alice: Walker, kid: string, bob: Walker, admin: Walker): Promise<void> {
  const right = { unique_identifier: kid, user_id: 'bob', operation_types: ['decrypt'] }
  await alice.post('/access/grant', { ...right, known: true })
  await alice.get('/access/owned')
  await bob.get('/access/obtained')
  await alice.get(`/access/list/${kid}`)
  for (const path of ['report', 'report/csv', 'leaver?user_id=alice']) await alice.get(`/access/${path}`)
  await alice.post('/access/explain', { user_id: 'bob', unique_identifier: kid, operation: 'decrypt' })
  await alice.post('/access/revoke', right)
  const group = '/access/groups/readers'
  await alice.put(group, { members: ['bob'] })
  await alice.get(group)
  await alice.get('/access/groups')
  await alice.del(group)
  await admin.post('/access/block', { user_id: 'eve' })
  await admin.get('/access/block')
  await admin.del('/access/block', { user_id: 'eve' })
  await admin.get('/access/holdings?user_id=alice')
  await admin.post('/access/transfer', { from_user_id: 'bob', to_user_id: 'carol' })
}

/** KMIP over HTTP, in TTLV and in JSON. A version that begins later is begun now. */
export async function walkKmip({ user, admin }: Walked): Promise<void> {
  const alice = await user('alice')
  const { kid } = (await alice.post(keys, aes)).json
  await kmipClient(alice.wire).do('ReKey', [uid(kid), interval(Tag.Offset, 3600)])
  await alice.post(`${keys}/${kid}/versions/2/activate`, {})
  for (const version of ['2_1', '1_4']) {
    const [major, minor] = version.split('_').map(Number)
    const answer = await alice.post(`/kmip/${version}`, {
      tag: 'RequestMessage',
      value: [
        {
          tag: 'RequestHeader',
          value: [
            {
              tag: 'ProtocolVersion',
              value: [
                { tag: 'ProtocolVersionMajor', type: 'Integer', value: major },
                { tag: 'ProtocolVersionMinor', type: 'Integer', value: minor },
              ],
            },
            { tag: 'BatchCount', type: 'Integer', value: 1 },
          ],
        },
        {
          tag: 'BatchItem',
          value: [
            { tag: 'Operation', type: 'Enumeration', value: 'Query' },
            {
              tag: 'RequestPayload',
              value: [{ tag: 'QueryFunction', type: 'Enumeration', value: 'QueryOperations' }],
            },
          ],
        },
      ],
    })
    assert.match(answer.text, /"ResultStatus","type":"Enumeration","value":"Success"/)
  }
  const devices = '/v1/kmip/devices'
  // The service records the certificate of the first run after a moment.
  await until('a device is listed', async () => (await admin.kms.get(devices)).json.length > 0)
  const [{ name }] = (await admin.kms.get(devices)).json
  await admin.kms.get(`${devices}/${encodeURIComponent(name)}`)
}
