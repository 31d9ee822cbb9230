import assert from 'node:assert/strict'
import type { Installation } from './installation.ts'
import { createOfKmip } from './kmip-create.ts'
import { until } from './until.ts'

export const plaintext = Buffer.from('attack at dawn').toString('base64url')

/** A user with a session, at any node. */
export interface NodeUser {
  ask(
    path: string,
    json?: object,
    method?: string,
  ): Promise<{ status: number; json: Record<string, unknown> }>
  /** @throws AssertionError when it does not answer 200 */
  do(path: string, json?: object, method?: string): Promise<Record<string, unknown>>
  create(alg?: object): Promise<string>
  encrypt(kid: string): Promise<Record<string, unknown>>
  decrypt(jwe: object): Promise<unknown>
  close(): void
}

export function openNodeUser(node: Installation, token: string): NodeUser {
  const client = node.client('kms')
  const headers = { authorization: `Bearer ${token}` }
  const ask: NodeUser['ask'] = async (path, json, method) => {
    const { status, json: answer } = await client.ask(path, {
      headers,
      ...(json !== undefined && { json }),
      ...(method !== undefined && { method }),
    })
    return { status, json: answer as Record<string, unknown> }
  }
  const done: NodeUser['do'] = async (path, json, method) => {
    const answer = await ask(path, json, method)
    assert.equal(answer.status, 200, `${path} ${JSON.stringify(answer.json)}`)
    return answer.json
  }
  return {
    ask,
    do: done,
    create: async (alg = { kty: 'oct', alg: 'A256GCM' }) =>
      (await done('/v1/crypto/keys', alg)).kid as string,
    encrypt: (kid) => done('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: plaintext }),
    decrypt: async (jwe) => (await done('/v1/crypto/decrypt', jwe)).data,
    close: () => client.close(),
  }
}

/** Changes a key that the other node has changed: 409 until this one has seen it. */
const changeOnceSeen = (node: NodeUser, path: string): Promise<void> =>
  until(`${path} succeeds`, async () => (await node.ask(path, {})).status === 200)

/** Changes of one node are visible to the other: keys, versions, schedules, grants and revocations. */
export async function workTogether(one: NodeUser, other: NodeUser, otherUser: NodeUser): Promise<void> {
  const kid = await one.create()
  const first = await one.encrypt(kid)
  assert.equal(await other.decrypt(first), plaintext)
  assert.equal(await one.decrypt(await other.encrypt(kid)), plaintext)
  const rotation = `/v1/crypto/keys/${kid}/rotation`
  await one.do(rotation, { rotate_every: 7200 }, 'PUT')
  // Another node may use cached values for as long as `cache_lease_ms`.
  await until('the schedule is there', async () => (await other.do(rotation)).rotate_every === 7200)
  await one.do(`/v1/crypto/keys/${kid}/rotate`, {})
  assert.equal(await other.decrypt(await one.encrypt(kid)), plaintext, 'sealed by the second version')
  await changeOnceSeen(other, `/v1/crypto/keys/${kid}/rotate`)
  assert.equal(await one.decrypt(await other.encrypt(kid)), plaintext, 'sealed by the third version')
  const { versions } = await one.do(`/v1/crypto/keys/${kid}/versions`)
  assert.equal((versions as unknown[]).length, 3)
  assert.equal(await other.decrypt(first), plaintext, 'the first version still opens')

  const { value } = (await one.do('/kmip/2_1', createOfKmip)) as { value: [unknown, { value: string }] }
  const managed = value[1].value
  assert.equal(await one.decrypt(await other.encrypt(managed)), plaintext, 'a key that KMIP made')

  const right = { unique_identifier: kid, user_id: 'ann', operation_types: ['decrypt'] }
  const readStatus = async (): Promise<number> => (await otherUser.ask('/v1/crypto/decrypt', first)).status
  assert.equal(await readStatus(), 404)
  await one.do('/access/grant', right)
  await until('the right is there', async () => (await readStatus()) === 200)
  await one.do('/access/revoke', right)
  await until('the right is gone', async () => (await readStatus()) === 404)
  await changeOnceSeen(one, `/v1/crypto/keys/${kid}/disable`)
  await until(
    'the key is disabled',
    async () => (await other.ask('/v1/crypto/decrypt', first)).status !== 200,
  )
  await changeOnceSeen(other, `/v1/crypto/keys/${kid}/enable`)
  await until('it is enabled', async () => (await one.ask('/v1/crypto/decrypt', first)).status === 200)
}

/** An authority whose list is signed by whichever node has the lease. */
export async function createAuthority(user: NodeUser) {
  const authorities = '/v1/pki/authorities'
  const { id } = await user.do(authorities, { subject: 'CN=Root', alg: 'ES256', days: 30 })
  const readCrlNumber = async (): Promise<number> => {
    const { crl } = (await user.do(`${authorities}/${id}`)) as { crl?: { readonly number: number } }
    return crl?.number ?? 0
  }
  await until('the first list is signed', async () => (await readCrlNumber()) > 0)
  return {
    /** Each revocation makes one list more, not one for each node. */
    async revokeAt(node: NodeUser): Promise<void> {
      const before = await readCrlNumber()
      const issued = await node.do(`${authorities}/${id}/certificates`, {
        alg: 'ES256',
        names: ['a.example'],
      })
      await node.do(`/v1/pki/certificates/${issued.id}/revoke`, { reason: 'superseded' })
      await until('the list has it', async () => (await readCrlNumber()) > before)
      assert.equal(await readCrlNumber(), before + 1)
    },
  }
}
