import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { makeCertificate } from '../kmip/certificate.ts'
import { logInUser, runInProcess } from '../testing/in-process.ts'
import { runWarder, startSharedInstallation } from '../testing/installation.ts'

const warder = await startSharedInstallation({ KMS_WORKERS: '2', AUTH_WORKERS: '2' })
let admin = await warder.adminToken()

const password = 'correct horse battery staple'

/** A call of auth by the first administrator. */
async function asAdmin(method: string, path: string, json?: unknown) {
  const auth = warder.client('auth')
  const answer = await auth.ask(path, { method, json, headers: { cookie: `_ea_=${admin}` } })
  auth.close()
  return answer
}

async function addUser(username: string, realm = '_'): Promise<void> {
  const credential = { username, password_input: { plaintext: password } }
  assert.equal((await asAdmin('POST', `/realms/${realm}/userpass`, credential)).status, 201)
}

/** A credential of somebody: how a request carries it. */
interface Carried {
  readonly headers?: Readonly<Record<string, string>>
  readonly cert?: string
  readonly key?: string
}

const agents: Agent[] = []
after(() => {
  for (const agent of agents) agent.destroy()
})

/** Somebody who keeps a connection: caches of connections count, too. */
function caller({ headers = {}, cert, key }: Carried) {
  const agent = new Agent({
    keepAlive: true,
    ca: readFileSync(warder.caFile),
    ...(cert === undefined ? {} : { cert, key }),
  })
  agents.push(agent)
  return (method: string, path: string, body?: string): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const sent = request(
        `${warder.kmsUrl}${path}`,
        { agent, method, headers: { 'content-type': 'application/json', ...headers } },
        (response) => {
          let text = ''
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
}

const kmipQuery = JSON.stringify({
  tag: 'Query',
  type: 'Structure',
  value: [{ tag: 'QueryFunction', type: 'Enumeration', value: 'QueryOperations' }],
})

/** Answers of both interfaces to this credential. */
async function statuses(ask: ReturnType<typeof caller>): Promise<readonly number[]> {
  const rest = await ask('GET', '/me')
  const kmip = await ask('POST', '/kmip/2_1', kmipQuery)
  return [rest.status, kmip.status]
}

/** A Query of KMIP 1.4 on the socket, TTLV. */
const ttlvQuery = Buffer.from(
  '42007801000000684200770100000038420069010000002042006a0200000004000000010000000042006b0200000004000000040000000042000d0200000004000000010000000042000f010000002042005c0500000004000000180000000042007901000000104200740500000004000000010000000000'.slice(
    0,
    2 * 0x70,
  ),
  'hex',
)

function socketOf(cert: string, key: string): Promise<TLSSocket> {
  const { kmip } = JSON.parse(readFileSync(join(warder.home, 'endpoints.json'), 'utf8')) as {
    kmip: { host: string; port: number }
  }
  return new Promise((resolve, reject) => {
    const socket = connect({ ...kmip, ca: readFileSync(warder.caFile), cert, key }, () => resolve(socket))
    socket.on('error', reject)
  })
}

/** Whether the KMIP socket answers a message on this connection. */
function answers(socket: TLSSocket): Promise<boolean> {
  if (socket.destroyed || socket.readableEnded) return Promise.resolve(false)
  return new Promise((resolve) => {
    socket.once('data', () => resolve(true))
    socket.once('close', () => resolve(false))
    socket.once('end', () => resolve(false))
    socket.once('error', () => resolve(false))
    socket.write(ttlvQuery)
  })
}

test('a deleted user’s token, cookie and certificate are refused by REST and KMIP with the next request', async () => {
  for (const name of ['ann', 'ben', 'cid']) {
    await addUser(name)
    const token = await logInUser(warder, name, password)
    const login = JSON.stringify({ username: name, password })
    const page = await new Promise<string>((resolve, reject) => {
      const agent = new Agent({ ca: readFileSync(warder.caFile) })
      agents.push(agent)
      const sent = request(
        `${warder.kmsUrl}/ui/login`,
        { agent, method: 'POST', headers: { 'content-type': 'application/json' } },
        (response) => {
          response.resume()
          resolve(response.headers['set-cookie']?.[0]?.split(';')[0] ?? '')
        },
      )
      sent.on('error', reject)
      sent.end(login)
    })
    const files = await makeCertificate({
      name,
      home: warder.home,
      out: join(warder.home, name),
      days: 30,
      rsa: false,
      now: Date.now(),
    })
    const [cert, key] = [readFileSync(files.cert, 'utf8'), readFileSync(files.key, 'utf8')]
    const credentials = {
      token: caller({ headers: { authorization: `Bearer ${token}` } }),
      cookie: caller({ headers: { cookie: page } }),
      certificate: caller({ cert, key }),
    }
    const socket = await socketOf(cert, key)
    for (const [kind, ask] of Object.entries(credentials))
      assert.deepEqual(await statuses(ask), [200, 200], `${kind} of ${name} before`)
    assert.equal(await answers(socket), true, 'the KMIP socket before')

    assert.equal((await asAdmin('DELETE', `/realms/_/userpass/${name}`)).status, 204)

    for (const [kind, ask] of Object.entries(credentials))
      assert.deepEqual(await statuses(ask), [401, 401], `${kind} of ${name} after`)
    assert.equal(await answers(socket), false, 'the KMIP socket after')
    socket.destroy()
  }
})

test('a machine token that was revoked, or whose role was deleted, is refused with the next request', async () => {
  for (const end of ['revoke', 'role'] as const) {
    const role = `ci-${end}`
    await asAdmin('POST', `/auth/approle/role/${role}`, { bind_secret_id: false })
    const { data } = JSON.parse((await asAdmin('GET', `/auth/approle/role/${role}/role-id`)).text)
    const auth = warder.client('auth')
    const login = await auth.ask('/auth/approle/login', { json: { role_id: data.role_id } })
    const token: string = JSON.parse(login.text).auth.client_token
    const ask = caller({ headers: { 'x-secret-token': token } })
    assert.deepEqual(await statuses(ask), [200, 200])
    if (end === 'role') await asAdmin('DELETE', `/auth/approle/role/${role}`)
    else await auth.ask('/auth/token/revoke-self', { method: 'POST', headers: { 'x-secret-token': token } })
    auth.close()
    assert.deepEqual(await statuses(ask), [401, 401], end)
  }
})

test('a logout, a new password and the end of a realm’s sessions cut off what was begun before, and no more', async () => {
  await addUser('dora')
  const session = async () => {
    const token = await logInUser(warder, 'dora', password)
    return { token, ask: caller({ headers: { authorization: `Bearer ${token}` } }) }
  }
  const [first, second] = [await session(), await session()]
  const { jti } = JSON.parse(Buffer.from(first.token.split('.')[1] ?? '', 'base64url').toString())
  assert.deepEqual(await statuses(first.ask), [200, 200])
  assert.equal((await asAdmin('DELETE', '/sessions', { session_ids: [jti] })).status, 204)
  assert.deepEqual(await statuses(first.ask), [401, 401])
  assert.deepEqual(await statuses(second.ask), [200, 200])
  const credential = { username: 'dora', password_input: { plaintext: password } }
  assert.equal((await asAdmin('PUT', '/realms/_/userpass/dora', credential)).status, 200)
  assert.deepEqual(await statuses(second.ask), [401, 401])
  const third = await session()
  assert.deepEqual(await statuses(third.ask), [200, 200], 'begun in the same second, after the end')
  assert.equal((await asAdmin('DELETE', '/sessions/realms/_')).status, 204)
  assert.deepEqual(await statuses(third.ask), [401, 401])
  admin = await warder.adminToken()
})

test('warder access block cuts a user off by every credential, also on open KMIP connections, until unblock', async () => {
  await addUser('eve')
  const token = await logInUser(warder, 'eve', password)
  const wish = { name: 'eve', home: warder.home, out: join(warder.home, 'eve'), days: 30, rsa: false }
  const files = await makeCertificate({ ...wish, now: Date.now() })
  const [cert, key] = [readFileSync(files.cert, 'utf8'), readFileSync(files.key, 'utf8')]
  const callers = [caller({ headers: { authorization: `Bearer ${token}` } }), caller({ cert, key })]
  const socket = await socketOf(cert, key)
  const access = (...words: string[]) => runInProcess(warder, ['access', ...words], { token: admin })
  assert.equal(await answers(socket), true)
  const blocked = await access('block', 'eve', '--reason', 'stolen laptop')
  assert.equal(blocked.code, 0, blocked.err)
  for (const ask of callers) assert.deepEqual(await statuses(ask), [403, 403])
  assert.equal(await answers(socket), false)
  assert.match((await access('blocked')).out, /eve .* admin +stolen laptop/)
  assert.equal((await access('unblock', 'eve')).code, 0)
  for (const ask of callers) assert.deepEqual(await statuses(ask), [200, 200])
  assert.equal((await access('block', 'admin')).code, 1, 'oneself')
  assert.match((await access('blocked')).out, /no user is blocked/)
})

test('users of another realm use keys out of the box, and are not their namesakes of the first realm', async () => {
  const realm = { id: 'eng', auth_params: { username_password_params: { allow_expired_passwords: false } } }
  const ages = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }
  assert.equal((await asAdmin('POST', '/admins/realms', { ...realm, ...ages })).status, 201)
  await addUser('fay')
  await addUser('fay', 'eng')
  await addUser('eng/fay')
  const auth = warder.client('auth')
  const names: string[] = []
  const kids: string[] = []
  for (const [realmId, username] of [
    ['_', 'fay'],
    ['eng', 'fay'],
    ['_', 'eng/fay'],
  ] as const) {
    const basic = Buffer.from(`${username}:${password}`).toString('base64')
    const login = await auth.ask(`/login?realm=${realmId}`, {
      json: {},
      headers: { authorization: `Basic ${basic}` },
    })
    const token = /^_ea_=([^;]+)/.exec([login.headers['set-cookie']].flat()[0] ?? '')?.[1]
    const ask = caller({ headers: { authorization: `Bearer ${token}` } })
    names.push(JSON.parse((await ask('GET', '/me')).text).user)
    const made = await ask('POST', '/v1/crypto/keys', JSON.stringify({ kty: 'oct', alg: 'A256GCM' }))
    kids.push(JSON.parse(made.text).kid)
    for (const kid of kids.slice(0, -1))
      assert.equal((await ask('GET', `/v1/crypto/keys/${kid}`)).status, 404)
    const typed = names.at(-1) ?? ''
    const page = await caller({})('POST', '/ui/login', JSON.stringify({ username: typed, password }))
    assert.equal(page.status, 200, `${typed} at the web page`)
  }
  auth.close()
  assert.deepEqual(names, ['fay', 'eng/fay', '_/eng/fay'])
})

test('a name that is given again inherits nothing; delete-user says what is left, and gives it to an heir', async () => {
  const words = ['admin', 'delete-user', 'gus', '--realm', '_', '--yes', '--home', warder.home]
  const keyOf = async (ask: ReturnType<typeof caller>) => {
    const made = await ask('POST', '/v1/crypto/keys', JSON.stringify({ kty: 'oct', alg: 'A256GCM' }))
    return `/v1/crypto/keys/${JSON.parse(made.text).kid}`
  }
  const gus = async () => {
    await addUser('gus')
    const token = await logInUser(warder, 'gus', password)
    return caller({ headers: { authorization: `Bearer ${token}` } })
  }
  const first = await gus()
  const left = await keyOf(first)
  const deleted = await runWarder(words)
  assert.match(
    deleted.out,
    /gus owns 1 objects at the kms and has grants on 0; no user inherits them/,
    deleted.err,
  )
  const second = await gus()
  assert.equal((await second('GET', left)).status, 404, 'another gus')
  assert.deepEqual(await statuses(first), [401, 401])
  const inherited = await keyOf(second)
  const given = await runWarder([...words, '--transfer-to', 'admin'])
  assert.match(given.out, /transferred to admin: 1 objects/, given.err)
  const boss = caller({ headers: { authorization: `Bearer ${admin}` } })
  assert.equal((await boss('GET', inherited)).status, 200)
  // A machine is known by the role that it was let in with.
  const machine = async () => {
    await asAdmin('POST', '/auth/approle/role/press', { bind_secret_id: false })
    const { data } = JSON.parse((await asAdmin('GET', '/auth/approle/role/press/role-id')).text)
    const auth = warder.client('auth')
    const login = await auth.ask('/auth/approle/login', { json: { role_id: data.role_id } })
    auth.close()
    return caller({ headers: { 'x-secret-token': JSON.parse(login.text).auth.client_token } })
  }
  const made = await keyOf(await machine())
  await asAdmin('DELETE', '/auth/approle/role/press')
  const again = await machine()
  assert.deepEqual([(await again('GET', made)).status, (await again('GET', '/me')).status], [404, 200])
})

test('health tells of the feed', async () => {
  const kms = warder.client('kms')
  const health = await kms.ask('/health')
  kms.close()
  assert.deepEqual(JSON.parse(health.text).dependencies.auth_feed, { name: 'revocation feed', status: 'UP' })
})

test('a service that was stopped while a session ended refuses it with the first request after that', {
  skip: process.platform === 'win32' && 'there is no SIGSTOP',
}, async () => {
  await addUser('sue')
  for (let round = 0; round < 3; round += 1) {
    const token = await logInUser(warder, 'sue', password)
    const headers = { authorization: `Bearer ${token}` }
    const connections = Array.from({ length: 4 }, () => caller({ headers }))
    for (const ask of connections) assert.equal((await ask('GET', '/me')).status, 200)
    const pid = warder.pid('kms')
    process.kill(pid, 'SIGSTOP')
    try {
      const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
      assert.equal((await asAdmin('DELETE', '/sessions', { session_ids: [jti] })).status, 204)
      const waiting = connections.map((ask) => ask('GET', '/me'))
      await new Promise((resolve) => setTimeout(resolve, 1200))
      process.kill(pid, 'SIGCONT')
      for (const { status, text } of await Promise.all(waiting)) assert.equal(status, 401, text)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  }
})
