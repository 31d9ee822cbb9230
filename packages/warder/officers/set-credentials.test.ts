import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { samlParams, sharedKey, TestIdp, toAcsUrl, toSpEntityId } from '@warder/auth/testing'
import { logInUser, newUser } from '../testing/in-process.ts'
import { type Installation, startInstallation } from '../testing/installation.ts'

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
    logIn: (user: string, password: string) => logInUser(warder, user, password),
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

test('a password that an administrator sets ends the vote at the other service before it is answered', async () => {
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

/** RFC 6238, SHA-1, 30 seconds. @param secret base32 */
function codeNow(secret: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((char) => alphabet.indexOf(char).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const digest = createHmac('sha1', key).update(counter).digest()
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

const inRealm = ['ann', 'ben', 'cid']
const times = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }
/** The administrator is an officer who never votes: those of the realm alone reach no quorum of four. */
const realmOfficers = {
  KMS_ROLES_CRYPTO_OFFICER_USERS: ['admin', ...inRealm.map((user) => `eng/${user}`)].join(','),
  KMS_ROLES_CEREMONY_QUORUM: '4',
  KMS_APPROVALS_OPERATIONS: 'destroy',
  KMS_RATE_LIMIT_PER_SECOND: '10000',
}

/** An installation whose officers are of the realm `eng`, and what its administrator does there. */
async function startWorld(more: Readonly<Record<string, string>>) {
  const warder = await startInstallation({ env: { ...realmOfficers, ...more } })
  const { as, asAdmin, close } = await callers(warder)
  const auth = warder.client('auth')
  let round = 0
  const passwords = new Map<string, string>()
  const basic = (user: string) => ({
    authorization: `Basic ${Buffer.from(`${user}:${passwords.get(user)}`).toString('base64')}`,
  })
  const made = async (method: string, path: string, json?: object) => {
    const { status, text } = await asAdmin(method, path, json)
    assert.ok(status < 300, `${method} ${path}: ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  const nextPassword = (user: string) => {
    passwords.set(user, `the password ${++round} of ${user}`)
    return { plaintext: passwords.get(user) }
  }
  const addUser = (username: string) =>
    made('POST', '/realms/eng/userpass', { username, password_input: nextPassword(username) })
  const addRealm = async () => {
    const auth_params = { username_password_params: { allow_expired_passwords: false } }
    await made('POST', '/admins/realms', { id: 'eng', auth_params, ...times })
    for (const user of inRealm) await addUser(user)
  }
  const setRealm = async (params: object) => {
    const realm = await made('GET', '/admins/realms/eng')
    await made('PUT', '/admins/realms/eng', { ...realm, auth_params: { ...realm.auth_params, ...params } })
  }
  /** The user changes the password, or whoever knows it. */
  const changePassword = async (user: string) => {
    const headers = basic(user)
    const new_password = nextPassword(user).plaintext
    const answer = await auth.ask('/password?realm=eng', { json: { new_password }, headers })
    assert.equal(answer.status, 204, answer.text)
  }
  const enrol = async (username: string) => {
    const { secret_base32: secret } = await made('POST', '/realms/eng/totp/generate', { username })
    await made('POST', '/realms/eng/totp/verify', { username, secret, token: codeNow(secret) })
  }
  await addRealm()
  return {
    ...{ as, made, nextPassword, addUser, addRealm, setRealm, changePassword, enrol },
    nextRound: () => ++round,
    admin: await warder.adminToken(),
    bob: await newUser(warder, 'bob'),
    async logIn(user: string): Promise<string | undefined> {
      const { headers } = await auth.ask('/login?realm=eng', { json: {}, headers: basic(user) })
      return /^_ea_=([^;]+)/.exec([headers['set-cookie']].flat()[0] ?? '')?.[1]
    },
    async [Symbol.asyncDispose]() {
      auth.close()
      close()
      await warder.stop()
    },
  }
}
type World = Awaited<ReturnType<typeof startWorld>>

/** What an administrator of the realm can do about the credentials of one user, or of all of them. */
interface CredentialChange {
  readonly ends: 'user' | 'realm' | 'nothing'
  /** Before the votes. */
  prepare?(world: World, user: string): Promise<unknown>
  act(world: World, user: string): Promise<unknown>
  cleanUp?(world: World, user: string): Promise<unknown>
}

const removeTotp = ({ made }: World, user: string) => made('DELETE', `/realms/eng/totp/${user}`)
const provider = (name: string) => ({
  idp_params: [{ jwt_issuer_uri: `https://${name}.example`, jwks_uri: `https://${name}.example/keys` }],
})
async function makeSamlParams(key: string) {
  const about = { spEntityId: toSpEntityId('eng'), acsUrl: toAcsUrl('eng') }
  return samlParams(new TestIdp({ key: await sharedKey(key), ...about }), 'eng')
}

const credentialChanges: Readonly<Record<string, CredentialChange>> = {
  'a password that is set': {
    ends: 'user',
    act: ({ made, nextPassword }, user) =>
      made('PUT', `/realms/eng/userpass/${user}`, { password_input: nextPassword(user) }),
  },
  'a password that is set, and changed by the administrator in place of the user': {
    ends: 'user',
    async act({ made, nextPassword, changePassword }, user) {
      const password_input = nextPassword(user)
      await made('PUT', `/realms/eng/userpass/${user}`, { password_input, change_password: true })
      await changePassword(user)
    },
  },
  'a user who is deleted and made again': {
    ends: 'user',
    async act({ made, addUser }, user) {
      await made('DELETE', `/realms/eng/userpass/${user}`)
      await addUser(user)
    },
  },
  'a second factor that is enrolled': {
    ends: 'user',
    act: ({ enrol }, user) => enrol(user),
    cleanUp: removeTotp,
  },
  'a second factor that is removed': {
    ends: 'user',
    prepare: ({ enrol }, user) => enrol(user),
    act: removeTotp,
  },
  'an Admin that names the user': {
    ends: 'user',
    act: ({ made, nextRound }, userpass) =>
      made('POST', '/admins', { id: `admin-${nextRound()}`, realms: ['eng'], userpass }),
  },
  'another JWT provider of the realm': {
    ends: 'realm',
    prepare: ({ setRealm, nextRound }) => setRealm({ jwt_params: provider(`one-${nextRound()}`) }),
    act: ({ setRealm, nextRound }) => setRealm({ jwt_params: provider(`two-${nextRound()}`) }),
  },
  'other SAML parameters of the realm': {
    ends: 'realm',
    prepare: async ({ setRealm }) => setRealm({ saml_params: await makeSamlParams('one') }),
    act: async ({ setRealm }) => setRealm({ saml_params: await makeSamlParams('two') }),
    cleanUp: ({ setRealm }) => setRealm({ saml_params: null }),
  },
  'a realm that is deleted and made again': {
    ends: 'realm',
    async act({ made, addRealm }) {
      await made('DELETE', '/admins/realms/eng')
      await addRealm()
    },
  },
  'a password that users change themselves': {
    ends: 'nothing',
    act: ({ changePassword }, user) => changePassword(user),
  },
}

/** All changes in an order that the seed says, each with an officer. */
function orderChanges(
  seed: number,
): readonly (readonly [title: string, change: CredentialChange, user: string])[] {
  let state = seed
  const next = (most: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * most)
  }
  return Object.entries(credentialChanges)
    .map(([title, change]) => ({ at: next(2 ** 20), title, change, user: inRealm[next(3)] ?? '' }))
    .sort((one, other) => one.at - other.at)
    .map(({ title, change, user }) => [title, change, user] as const)
}

/** A request to destroy a key of bob, and how officers vote on it. */
async function votingOn({ as, admin, bob }: World) {
  const create = { user_id: 'bob', operation_types: ['create'] }
  assert.equal((await as(admin, '/access/grant', create)).status, 200)
  const { kid } = (await as(bob, '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const asked = await as(bob, '/access/approvals', { operation: 'destroy', key: kid })
  assert.equal(asked.status, 200, asked.text)
  const { id, hash } = asked.json
  return {
    vote: async (token: string) => as(token, `/access/approvals/${id}/approve`, { hash }),
    approvers: async (): Promise<readonly string[]> => {
      const { state, approved_by } = (await as(bob, `/access/approvals/${id}`)).json
      assert.equal(state, 'open')
      return [...approved_by].sort()
    },
  }
}

const seeds = [28, 155, 4711]
const all = inRealm.map((user) => `eng/${user}`)

test('each change of a credential ends the votes of the users that it is about, and no others', async () => {
  await using world = await startWorld({ KMS_APPROVALS_CREDENTIAL_WAIT: '0' })
  const { vote, approvers } = await votingOn(world)
  for (const seed of seeds)
    for (const [title, change, user] of orderChanges(seed)) {
      const tokens = await Promise.all(inRealm.map(world.logIn))
      await change.prepare?.(world, user)
      for (const token of tokens) {
        const { status, text } = await vote(token ?? '')
        // Votes that no change has ended are still there.
        assert.ok(status === 200 || status === 409, `${seed}, before ${title}: ${text}`)
      }
      assert.deepEqual(await approvers(), all, `${seed}, before ${title}`)
      await change.act(world, user)
      const left = { nothing: all, realm: [], user: all.filter((name) => name !== `eng/${user}`) }[
        change.ends
      ]
      assert.deepEqual(await approvers(), left, `${seed}: ${title} (${user})`)
      await change.cleanUp?.(world, user)
    }
})

for (const [rule, more] of Object.entries({
  'approvals.vote_with': { KMS_APPROVALS_VOTE_WITH: 'tls_auth', KMS_APPROVALS_CREDENTIAL_WAIT: '0' },
  'approvals.credential_wait': {},
}))
  test(`whatever credentials one administrator sets, none of them votes under ${rule}`, async () => {
    await using world = await startWorld(more)
    const { vote, approvers } = await votingOn(world)
    for (const seed of seeds)
      for (const [title, change, user] of orderChanges(seed)) {
        const before = await Promise.all(inRealm.map(world.logIn))
        await change.prepare?.(world, user)
        await change.act(world, user)
        const tokens = [...before, ...(await Promise.all(inRealm.map(world.logIn)))]
        let refused = 0
        for (const token of tokens.filter((one) => one !== undefined)) {
          const { status, text } = await vote(token)
          // A session from before may have ended.
          assert.ok(status === 401 || status === 403, `${seed}, ${title}: ${text}`)
          if (text.includes(rule)) refused += 1
        }
        assert.ok(refused >= inRealm.length - 1, `${seed}, ${title}: the rule refused ${refused}`)
        assert.deepEqual(await approvers(), [], `${seed}, ${title}`)
        await change.cleanUp?.(world, user)
      }
  })
