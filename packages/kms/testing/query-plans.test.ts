import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { endName } from '@warder/keys'
import { createClientIssuers } from '@warder/kmip-server/testing'
import { parseCertificate } from '@warder/pki'
import { createCertId, ocspRequest } from '@warder/pki/testing'
import { type Database, openPostgres, openSqlite, type Query, query, type SqlValue } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { makeAuthorities, toDer } from '../pki/testing/pki-scene.ts'
import { kmsService } from '../service/service.ts'
import type { Caller } from './client.ts'
import { type Started, startKms } from './start.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-plans-'))
const server = await startTestPostgres()
const opened: Database[] = []
after(async () => {
  for (const db of opened) await db.close()
  if ('stop' in server) await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

type AnyQuery = Query<readonly SqlValue[], unknown>
type Seen = Map<string, { readonly statement: AnyQuery; readonly params: readonly SqlValue[] }>

/** The database, with every statement written down that goes to it. */
function watched(db: Database, seen: Seen): Database {
  const note = (statement: AnyQuery, params: readonly SqlValue[]): void => {
    if (!seen.has(statement.text)) seen.set(statement.text, { statement, params })
  }
  return {
    ...db,
    get(statement, params) {
      note(statement as AnyQuery, params)
      return db.get(statement, params)
    },
    all(statement, params) {
      note(statement as AnyQuery, params)
      return db.all(statement, params)
    },
    commit(changes) {
      for (const { query: statement, params } of changes) note(statement, params)
      return db.commit(changes)
    },
  }
}

const data = Buffer.from('attack at dawn').toString('base64url')

/** Every REST operation once, as the owner, as a grantee, and without credentials. */
async function useEverything(db: Database): Promise<void> {
  await using kms = await startKms({ db, config: { 'roles.crypto_officer_users': ['olga'] } })
  const olga = kms.user('olga')
  const bob = kms.user('bob')
  const make = async (body: object) => (await olga.post('/v1/crypto/keys', body)).json
  const aes = await make({ kty: 'oct', alg: 'A256GCM', tags: ['t', 'u'] })
  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  for (const operations of [['create'], ['encrypt', 'decrypt', 'getattributes', 'authorize']]) {
    const body = { unique_identifier: aes.kid, user_id: 'bob', operation_types: operations }
    assert.equal((await olga.post('/access/grant', body)).status, 200)
  }
  for (const who of [olga, bob]) {
    const sealed = await who.post('/v1/crypto/encrypt', { kid: aes.kid, alg: 'dir', enc: 'A256GCM', data })
    assert.equal((await who.post('/v1/crypto/decrypt', sealed.json)).json.data, data)
    await who.post('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })
    for (const path of [
      '/access/owned',
      '/access/obtained',
      `/access/list/${aes.kid}`,
      `/v1/crypto/keys/${aes.kid}`,
    ])
      assert.equal((await who.get(path)).status, 200, path)
  }
  await useInventory(olga)
  for (const verb of ['disable', 'enable'])
    assert.equal((await olga.post(`/v1/crypto/keys/${aes.kid}/${verb}`, {})).status, 200)
  await kms.services.uses.flush()
  await olga.post(`/v1/crypto/keys/${aes.kid}/tags`, { tags: ['v'] })
  await olga.del(`/v1/crypto/keys/${aes.kid}/tags`, { tags: ['t'] })
  await useAliases(olga, bob, aes.kid, pair.kid)
  await kms.with({}).get('/.well-known/jwks.json')
  await useAuthorities(olga, bob, kms)
  await useDevices(olga, kms)
  const body = { unique_identifier: aes.kid, user_id: 'bob', operation_types: ['encrypt', 'create'] }
  await olga.post('/access/revoke', body)
  for (const work of kmsService.periodic) await work.run({ ...kms.environment, db })
  assert.equal((await olga.del(`/v1/crypto/keys/${pair.kid}`)).status, 204)
  await useGroups(olga, bob, aes.kid)
  const given = await olga.post('/access/transfer', { from_user_id: 'bob', to_user_id: 'carol' })
  assert.equal(given.status, 200, given.text)
  await endName({ db, commit: db.commit, now: () => kms.environment.clock.now() }, 'carol', 'c1')
}

/** Devices, of which one connects, and one has a certificate of an authority of the service. */
async function useDevices(olga: Caller, kms: Started): Promise<void> {
  const { issuing, issue } = await makeAuthorities(olga, { subject: 'CN=Devices, O=Acme' })
  assert.equal((await issue({ alg: 'ES256', profile: 'client', subject: 'CN=disk-1' })).status, 200)
  const file = join(kms.home, 'clients.pem')
  writeFileSync(file, issuing.certificate)
  const { services, environment } = kms
  Object.assign(services, { clientIssuers: createClientIssuers({ ...environment, file }) })
  services.sightings.note({ name: 'disk-2', at: 1, version: '1.4', encoding: 'ttlv' }, undefined)
  await services.sightings.flush()
  for (const path of ['', '?search=disk', '/disk-1', '/disk-2'])
    assert.equal((await olga.get(`/v1/kmip/devices${path}`)).status, 200, path)
}

/** Every operation of groups and of grants by tag once. */
async function useGroups(olga: Caller, bob: Caller, kid: string): Promise<void> {
  const put = (name: string, members: readonly string[]) =>
    olga.call('PUT', `/access/groups/${name}`, { json: { members } })
  for (const members of [['bob'], ['bob', 'app:web-*']])
    assert.equal((await put('inner', members)).status, 200)
  assert.equal((await put('outer', ['group:inner', 'carol'])).status, 200)
  for (const path of ['', '/outer']) assert.equal((await olga.get(`/access/groups${path}`)).status, 200)
  const grants = [
    { unique_identifier: kid, user_id: 'group:outer', operation_types: ['encrypt'] },
    { tag: 'v', user_id: 'group:outer', operation_types: ['encrypt'] },
  ]
  for (const body of grants) assert.equal((await olga.post('/access/grant', body)).status, 200)
  for (const query of [
    '',
    `?unique_identifier=${kid}`,
    '?user_id=bob',
    `?user_id=bob&unique_identifier=${kid}`,
  ])
    for (const caller of [olga, bob])
      assert.equal((await caller.get(`/access/report${query}`)).status, 200, query)
  assert.equal((await olga.get('/access/leaver?user_id=bob')).status, 200)
  for (const user_id of ['bob', 'olga']) {
    const asked = { user_id, unique_identifier: kid, operation: 'encrypt' }
    assert.equal((await olga.post('/access/explain', asked)).status, 200)
  }
  for (const body of grants) assert.equal((await olga.post('/access/revoke', body)).status, 200)
  assert.equal((await olga.del('/access/groups/inner')).status, 204)
}

/** Every operation of aliases once. */
async function useAliases(olga: Caller, bob: Caller, kid: string, other: string): Promise<void> {
  const path = '/v1/crypto/aliases'
  for (const alias of ['one', 'two']) assert.equal((await olga.post(path, { alias, kid })).status, 200)
  for (const query of ['', '?after=one', `?kid=${kid}`])
    assert.equal((await olga.get(`${path}${query}`)).status, 200)
  assert.equal((await bob.get(`${path}/two%40olga`)).status, 200)
  assert.equal((await olga.call('PUT', `${path}/one`, { json: { kid: other } })).status, 200)
  assert.equal((await olga.del(`${path}/one`)).status, 204)
}

/** The list of keys along each of its indexes, of one owner and of all; small lists are walked by their owner. */
async function useInventory(olga: Caller): Promise<void> {
  for (const query of [
    'tag=t',
    'algorithm=AES',
    'state=Deactivated',
    'disabled=true',
    'awaits_destruction=true',
    'created_after=2020-01-01',
    'rotated_before=2020-01-01',
    'expires_before=2099-01-01',
    'unused_since=2099-01-01',
    '',
  ])
    for (const owner of ['*', 'olga']) {
      const listed = await olga.get(`/v1/crypto/keys?owner=${owner}&${query}`)
      assert.equal(listed.status, 200, listed.text)
    }
}

/** Every operation of the authorities once. */
async function useAuthorities(olga: Caller, bob: Caller, kms: Started): Promise<void> {
  const path = '/v1/pki/authorities'
  const { id } = (await olga.post(path, { subject: 'CN=CA', alg: 'ES256' })).json
  const issue = () => olga.post(`${path}/${id}/certificates`, { alg: 'ES256', names: ['a.example'] })
  const [one, other] = [(await issue()).json, (await issue()).json]
  for (const [caller, status] of [
    [olga, 200],
    [bob, 404],
  ] as const) {
    assert.equal((await caller.get(path)).status, 200)
    for (const each of [`${path}/${id}`, `${path}/${id}/certificates`, `/v1/pki/certificates/${one.id}`])
      assert.equal((await caller.get(each)).status, status, each)
  }
  for (const [of, verb] of [
    [one, 'renew'],
    [one, 'revoke'],
    [other, 'revoke'],
  ])
    assert.equal((await olga.post(`/v1/pki/certificates/${of.id}/${verb}`, {})).status, 200)
  await olga.del(`/v1/crypto/keys/${other.id}`)
  assert.equal((await olga.get(`/v1/pki/certificates/${other.id}`)).json.state, 'revoked')
  const anonymous = kms.with({})
  assert.equal((await anonymous.get(`/public/certificates/${id}/crl`)).status, 200)
  assert.equal((await anonymous.get(`/public/certificates/${id}/certificate`)).status, 200)
  const { subject: name, spki } = parseCertificate(
    toDer(String((await olga.get(`${path}/${id}`)).json.certificate)),
  )
  for (const serial of [Buffer.from(one.serial, 'hex'), Buffer.from([1])])
    await anonymous.call('POST', '/ocsp', {
      bytes: ocspRequest([createCertId('sha1', { name, spki }, serial)]),
    })
}

/** Tables that grow with keys and their use. The others hold a few rows for the whole service. */
const growing =
  /managed_object|object_tag|object_name|object_link|object_grant|gcm_budget|key_alias|object_use|pki_|access_group|access_membership|tag_grant/

test('SQLite: no statement of any operation scans a table', async () => {
  const seen: Seen = new Map()
  const path = join(folder, 'kms.db')
  const db = openSqlite({ path })
  opened.push(db)
  await useEverything(watched(db, seen))
  assert.ok(seen.size > 25, String(seen.size))
  for (const { statement, params } of seen.values()) {
    if (!growing.test(statement.text) || /^(INSERT|CREATE|ALTER|DROP)/.test(statement.text)) continue
    const plan = await db.all(
      query<SqlValue[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${statement.text}`),
      [...params],
    )
    for (const { detail } of plan) {
      // A sub-select in its own list is bounded by its LIMIT, or by that of its source.
      const scan = /^SCAN (\w+)/.exec(detail)?.[1]
      const bounded =
        scan === undefined ||
        ['t', 'shares', 'mine', 'owned', 'page', 'CONSTANT', '(subquery-'].includes(scan)
      // A list is walked in the order of its index, else each page would cost as much as all of them.
      const sorts = / (first|newest)\b/.test(statement.text) && detail.includes('TEMP B-TREE')
      assert.ok(bounded && !sorts, `${statement.text}\n${plan.map((row) => row.detail).join('\n')}`)
    }
  }
})

test('PostgreSQL: every statement of every operation can use an index', {
  skip: 'missing' in server ? server.missing : false,
}, async () => {
  assert.ok('database' in server)
  const url = await server.database()
  // PostgreSQL scans small tables despite indexes, unless that is switched off, which shows the possible plans.
  const db = await openPostgres({ url: `${url}?options=${encodeURIComponent('-c enable_seqscan=off')}` })
  opened.push(db)
  const seen: Seen = new Map()
  await useEverything(watched(db, seen))
  for (const { statement, params } of seen.values()) {
    if (!growing.test(statement.text) || /^(INSERT|CREATE|ALTER|DROP)/.test(statement.text)) continue
    const plan = await db.all(query<SqlValue[], Record<string, string>>(`EXPLAIN ${statement.text}`), [
      ...params,
    ])
    const lines = plan.map((row) => row['QUERY PLAN'] ?? '')
    assert.ok(lines.length > 0)
    for (const line of lines) assert.doesNotMatch(line, /Seq Scan/, `${statement.text}\n${lines.join('\n')}`)
  }
})
