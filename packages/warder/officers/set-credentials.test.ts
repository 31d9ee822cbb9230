import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tokenOf } from '../testing/in-process.ts'
import { type Installation, startInstallation } from '../testing/index.ts'

const officers = ['ann', 'ben', 'cid']
const env = {
  KMS_ROLES_CRYPTO_OFFICER_USERS: officers.join(','),
  KMS_ROLES_CEREMONY_QUORUM: '2',
  KMS_APPROVALS_OPERATIONS: 'destroy',
}

/** Calls of an administrator of the authentication service, and of users of the other one. */
async function callers(warder: Installation) {
  const [auth, kms] = [warder.client('auth'), warder.client('kms')]
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const admin = { cookie: `_ea_=${await warder.adminToken()}` }
  const asAdmin = (method: string, path: string, json?: object) =>
    auth.ask(path, { method, headers: admin, ...(json !== undefined && { json }) })
  const as = async (token: string, path: string, json?: object) => {
    const { status, text } = await kms.ask(path, {
      headers: bearer(token),
      ...(json !== undefined && { json }),
    })
    return { status, text, json: text === '' ? undefined : JSON.parse(text) }
  }
  return {
    asAdmin,
    as,
    logIn: (user: string, password: string) => tokenOf(warder, user, password),
    close() {
      auth.close()
      kms.close()
    },
  }
}
type Callers = Awaited<ReturnType<typeof callers>>

const passwordOf = (user: string, round: number) => `the password ${round} of ${user}`

async function setPassword({ asAdmin }: Callers, user: string, round: number): Promise<void> {
  const password_input = { plaintext: passwordOf(user, round) }
  const change = await asAdmin('PUT', `/realms/_/userpass/${user}`, {
    password_input,
    change_password: false,
  })
  if (change.status === 200) return
  const made = await asAdmin('POST', '/realms/_/userpass', { username: user, password_input })
  assert.equal(made.status, 201, made.text)
}

/** A request of bob to destroy a key of his, for which officers have let him create keys. */
async function askedByBob(calls: Callers, officer: string) {
  await setPassword(calls, 'bob', 0)
  const bob = await calls.logIn('bob', passwordOf('bob', 0))
  const create = { user_id: 'bob', operation_types: ['create'] }
  assert.equal((await calls.as(officer, '/access/grant', create)).status, 200)
  const { kid } = (await calls.as(bob, '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const asked = await calls.as(bob, '/access/approvals', { operation: 'destroy', key: kid })
  assert.equal(asked.status, 200, asked.text)
  return { bob, kid: String(kid), request: asked.json as { id: string; hash: string } }
}

test('issue 28: a password that an administrator sets ends the vote at the other service before it is answered', async () => {
  const warder = await startInstallation({ env: { ...env, KMS_APPROVALS_CREDENTIAL_WAIT: '0' } })
  const calls = await callers(warder)
  try {
    for (const officer of officers) await setPassword(calls, officer, 0)
    const ann = await calls.logIn('ann', passwordOf('ann', 0))
    const { bob, request } = await askedByBob(calls, ann)
    const { id, hash } = request
    const approvers = async () => (await calls.as(bob, `/access/approvals/${id}`)).json.approved_by
    assert.equal((await calls.as(ann, `/access/approvals/${id}/approve`, { hash })).status, 200)
    assert.deepEqual(await approvers(), ['ann'])
    await setPassword(calls, 'ben', 1)
    assert.deepEqual(await approvers(), ['ann'], 'of another officer')
    await setPassword(calls, 'ann', 1)
    assert.deepEqual(await approvers(), [])
  } finally {
    calls.close()
    await warder.stop()
  }
})

test('issue 28: whatever credentials one administrator sets, they reach no quorum with them where vote_with is set', async () => {
  const warder = await startInstallation({ env: { ...env, KMS_APPROVALS_VOTE_WITH: 'tls_auth' } })
  const calls = await callers(warder)
  try {
    for (const officer of officers) await setPassword(calls, officer, 0)
    const { bob, kid, request } = await askedByBob(calls, await calls.logIn('ann', passwordOf('ann', 0)))
    const { id, hash } = request
    let seed = 28
    const next = (most: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return Math.floor((seed / 2 ** 31) * most)
    }
    for (let round = 1; round <= 12; round++) {
      const officer = officers[next(officers.length)] ?? ''
      const change = next(3)
      if (change === 0) await calls.asAdmin('DELETE', `/realms/_/userpass/${officer}`)
      if (change === 1) await calls.asAdmin('DELETE', `/realms/_/totp/${officer}`)
      if (change === 2) {
        const admin = { id: `admin-${round}`, realms: ['_'], userpass: officer }
        assert.equal((await calls.asAdmin('POST', '/admins', admin)).status, 201)
      }
      await setPassword(calls, officer, round)
      const token = await calls.logIn(officer, passwordOf(officer, round))
      const { status, text } = await calls.as(token, `/access/approvals/${id}/approve`, { hash })
      assert.equal(status, 403, text)
      const { state, approved_by } = (await calls.as(bob, `/access/approvals/${id}`)).json
      assert.deepEqual([state, approved_by], ['open', []])
    }
    assert.equal((await calls.as(bob, `/v1/crypto/keys/${kid}`)).status, 200)
  } finally {
    calls.close()
    await warder.stop()
  }
})
