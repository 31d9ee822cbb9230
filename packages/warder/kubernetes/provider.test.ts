import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { status } from '@grpc/grpc-js'
import { httpsClient } from '@warder/command-line/https-client'
import { createLogger } from '@warder/runtime'
import { cleanEnvironment, type Installation, startInstallation } from '../testing/installation.ts'
import { program } from '../testing/program.ts'
import { until } from '../testing/until.ts'
import { kubernetesKms } from './command.ts'
import { type MachineLogin, MachineTokens } from './machine-tokens.ts'
import { encodeCiphertext } from './provider.ts'
import { type RunningProvider, type RunOptions, startProvider } from './run.ts'
import { ApiServer } from './testing/api-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-k8s-'))
const socket = join(folder, 'kms.sock')
const alias = 'alias/cluster@admin'
const plaintext = Buffer.from('a seed of data encryption keys..')
const lines: string[] = []
const log = createLogger({ level: 'debug', service: 'test', write: (line) => void lines.push(line) })

let warder: Installation
let headers: Readonly<Record<string, string>>
let login: Extract<MachineLogin, { roleId: string }>
let first: string
let provider: RunningProvider | undefined
let api: ApiServer

before(async () => {
  warder = await startInstallation()
  headers = { authorization: `Bearer ${await warder.adminToken()}` }
  first = await newKey()
  await kms('/v1/crypto/aliases', { alias: 'cluster', kid: first })
  login = await newRole('cluster', { token_ttl: 3600 })
  provider = await startProvider(optionsWith(socket))
  api = new ApiServer(socket)
})
after(async () => {
  api?.close()
  await provider?.stop()
  await warder?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function optionsWith(path: string, more: Partial<RunOptions> = {}): RunOptions {
  return {
    socket: path,
    key: alias,
    kms: { url: warder.kmsUrl, caFile: warder.caFile },
    auth: { url: warder.authUrl, caFile: warder.caFile },
    login,
    metricsPort: undefined,
    log,
    ...more,
  }
}

async function ask(service: 'auth' | 'kms', path: string, json: object | undefined, method?: string) {
  const client = warder.client(service)
  try {
    const cookie = service === 'auth' ? { cookie: `_ea_=${headers.authorization?.slice(7)}` } : headers
    const answer = await client.ask(path, { json, headers: cookie, ...(method !== undefined && { method }) })
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`)
    return (answer.json ?? {}) as Readonly<Record<string, string>> & {
      data: Readonly<Record<string, string>>
    }
  } finally {
    client.close()
  }
}
const kms = (path: string, json?: object, method?: string) => ask('kms', path, json, method)

/** A key that the machines of these tests may use. */
async function newKey(): Promise<string> {
  const { kid = '' } = await kms('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  for (const user_id of ['app:cluster', 'app:short'])
    await kms('/access/grant', { unique_identifier: kid, user_id, operation_types: ['encrypt', 'decrypt'] })
  return kid
}

async function newRole(name: string, settings: object, secret: object = {}) {
  await ask('auth', `/auth/approle/role/${name}`, settings)
  const roleId = (await ask('auth', `/auth/approle/role/${name}/role-id`, undefined)).data.role_id ?? ''
  const made = await ask('auth', `/auth/approle/role/${name}/secret-id`, secret)
  const secretIdFile = join(folder, `${name}.secret`)
  writeFileSync(secretIdFile, made.data.secret_id ?? '', { mode: 0o600 })
  return { roleId, secretIdFile }
}

const keyIdNow = async () => (await api.call('Status', {})).key_id

test('Status, Encrypt and Decrypt keep the rules of the interface', async () => {
  const { version, healthz, key_id } = await api.call('Status', {})
  assert.deepEqual({ version, healthz, key_id }, { version: 'v2', healthz: 'ok', key_id: first })
  assert.ok(Buffer.byteLength(key_id) <= 1024)
  assert.equal(await keyIdNow(), key_id, 'it is stable')
  const ciphertexts = new Set<string>()
  for (const bytes of [plaintext, plaintext, Buffer.alloc(1), Buffer.alloc(768, 7)]) {
    const sealed = await api.call('Encrypt', { plaintext: bytes, uid: 'f3b9' })
    ciphertexts.add(sealed.ciphertext.toString('hex'))
    assert.equal(sealed.key_id, key_id)
    assert.ok(sealed.ciphertext.length > bytes.length && sealed.ciphertext.length <= 1024)
    for (const name of Object.keys(sealed.annotations))
      assert.match(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/)
    const { ciphertext } = sealed
    const opened = await api.call('Decrypt', { ciphertext, key_id, uid: 'other' })
    assert.deepEqual(opened.plaintext, bytes)
  }
  assert.equal(ciphertexts.size, 4)
  const calls = await Promise.all(
    Array.from({ length: 50 }, () => api.call('Encrypt', { plaintext, uid: 'many' })),
  )
  assert.equal(calls.length, 50)
})

test('what Encrypt did not make, and what the limits leave out, is refused and harms nobody', async () => {
  const { ciphertext, key_id } = await api.call('Encrypt', { plaintext, uid: '1' })
  const other = await kms('/v1/crypto/encrypt', { kid: first, alg: 'dir', enc: 'A256GCM', data: 'QUJD' })
  const foreign = encodeCiphertext(other as never)
  const changed = (at: number) =>
    Buffer.from(ciphertext.map((byte, index) => (index === at ? byte ^ 1 : byte)))
  const wrong: readonly object[] = [
    { ciphertext, key_id: '' },
    { ciphertext, key_id: 'another' },
    { ciphertext, key_id, annotations: { 'x.example.com': Buffer.from('1') } },
    { ciphertext: Buffer.alloc(0), key_id },
    { ciphertext: Buffer.alloc(2000, 1), key_id },
    { ciphertext: Buffer.from([1, 0xff, 0xff, ...Buffer.alloc(40)]), key_id },
    { ciphertext: Buffer.from([1, 0, 0, ...Buffer.alloc(40)]), key_id },
    { ciphertext: ciphertext.subarray(0, -1), key_id },
    { ciphertext: Buffer.concat([ciphertext, Buffer.alloc(1)]), key_id },
    // Of the same key, but not for this purpose: the socket opens nothing else.
    { ciphertext: foreign, key_id },
    ...[0, 1, 2, 5, ciphertext.length - 40, ciphertext.length - 1].map((at) => ({
      ciphertext: changed(at),
      key_id,
    })),
  ]
  for (const [index, message] of wrong.entries()) {
    const { code, details } = await api.callRefused('Decrypt', { uid: '1', ...message })
    assert.equal(code, status.INVALID_ARGUMENT, `${index}: ${details}`)
  }
  assert.equal(
    (await api.callRefused('Encrypt', { plaintext: Buffer.alloc(1024) })).code,
    status.INVALID_ARGUMENT,
  )
  assert.equal(
    (await api.callRefused('Encrypt', { plaintext: Buffer.alloc(100_000) })).code,
    status.RESOURCE_EXHAUSTED,
  )
  for (const bytes of ['0a', '0aff', '0aff01', 'ffffffffffffffffff', '00', '0b', '07'])
    assert.notEqual((await api.callRefused('Decrypt', Buffer.from(bytes, 'hex'))).code, status.OK)
  // Unknown members are skipped, as later versions of the interface may have more.
  const more = Buffer.concat([Buffer.from([0x0a, plaintext.length]), plaintext, Buffer.from([0x78, 1])])
  assert.equal((await api.call('Encrypt', more)).key_id, key_id)
  await new Promise<void>((resolve) => {
    const raw = connect(socket, () => raw.end(Buffer.alloc(5000, 'GET / HTTP/1.1\r\n')))
    raw.resume()
    raw.on('error', () => undefined).on('close', () => resolve())
  })
  assert.equal((await api.call('Status', {})).healthz, 'ok')
})

test('another key under the alias changes the key id of Status, and what was encrypted before is decrypted', async () => {
  const old = await api.call('Encrypt', { plaintext, uid: '1' })
  const second = await newKey()
  await kms('/v1/crypto/aliases/cluster', { kid: second }, 'PUT')
  await until('Status tells the new key id', async () => (await keyIdNow()) === second)
  const fresh = await api.call('Encrypt', { plaintext, uid: '2' })
  assert.equal(fresh.key_id, second)
  for (const { ciphertext, key_id } of [old, fresh])
    assert.deepEqual((await api.call('Decrypt', { ciphertext, key_id })).plaintext, plaintext)
  const crossed = { ciphertext: old.ciphertext, key_id: fresh.key_id }
  assert.equal((await api.callRefused('Decrypt', crossed)).code, status.INVALID_ARGUMENT)
})

test('a rotation of the key changes the key id of Status, and former versions decrypt', async () => {
  const sealed = [await api.call('Encrypt', { plaintext })]
  for (let rotations = 0; rotations < 2; rotations++) {
    const before = await keyIdNow()
    const { version_kid } = await kms(`/v1/crypto/keys/${encodeURIComponent('alias/cluster')}/rotate`, {})
    assert.notEqual(version_kid, before)
    await until('Status tells the new version', async () => (await keyIdNow()) === version_kid)
    const fresh = await api.call('Encrypt', { plaintext })
    assert.equal(fresh.key_id, version_kid)
    sealed.push(fresh)
  }
  assert.equal(new Set(sealed.map(({ key_id }) => key_id)).size, 3)
  for (const { ciphertext, key_id } of sealed)
    assert.deepEqual((await api.call('Decrypt', { ciphertext, key_id })).plaintext, plaintext)
})

test('a token that was revoked is replaced by a login, and a token in a file is read again when it changes', async () => {
  const auth = httpsClient(warder.authUrl, warder.caFile)
  const secret = (await import('@warder/command-line/files')).readSecretFile(login.secretIdFile)
  const logIn = async (): Promise<string> => {
    const { json } = await auth.ask('/auth/approle/login', {
      json: { role_id: login.roleId, secret_id: secret },
    })
    return (json as { auth: { client_token: string } }).auth.client_token
  }
  const revoke = (token: string) =>
    auth.ask('/auth/token/revoke-self', { json: {}, headers: { 'x-secret-token': token } })
  const tokenFile = join(folder, 'token')
  const begun = await logIn()
  writeFileSync(tokenFile, `${begun}\n`)
  const path = join(folder, 'file.sock')
  const other = await startProvider(optionsWith(path, { login: { tokenFile } }))
  const caller = new ApiServer(path)
  try {
    assert.equal((await caller.call('Status', {})).healthz, 'ok')
    await revoke(begun)
    await until('it notices that the token was revoked', async () => {
      try {
        await caller.call('Encrypt', { plaintext })
        return false
      } catch {
        return true
      }
    })
    const { key_id } = await api.call('Status', {})
    const refused = await caller.call('Status', {})
    assert.equal(refused.key_id, key_id, 'the key id stays while it is not healthy')
    writeFileSync(tokenFile, await logIn())
    await until('the new token counts', async () => (await caller.call('Status', {})).healthz === 'ok')
  } finally {
    caller.close()
    await other.stop()
    auth.close()
  }
  const tokens = new MachineTokens({ login, auth: httpsClient(warder.authUrl, warder.caFile), log })
  const one = await tokens.current()
  assert.deepEqual(await tokens.current(), one)
  tokens.invalidate(one)
  assert.notDeepEqual(await tokens.current(), one)
  tokens.close()
})

test('a lease is renewed before it ends, with a secret id that can be used only once', async () => {
  const short = await newRole('short', { token_ttl: 4 }, { num_uses: 1 })
  const auth = httpsClient(warder.authUrl, warder.caFile)
  const tokens = new MachineTokens({ login: short, auth, log })
  const token = await tokens.current()
  for (let renewals = 0; renewals < 2; renewals++) {
    const left = tokens.secondsLeft ?? 0
    assert.ok(left > 0 && left <= 4)
    let lowest = left
    await until('the lease begins again', () => {
      const now = tokens.secondsLeft ?? 0
      if (now > lowest) return true
      lowest = now
      return false
    })
  }
  assert.deepEqual(await tokens.current(), token)
  tokens.close()
  auth.close()
})

test('a login that is refused is told, and not tried at each call', async () => {
  const secretIdFile = join(folder, 'wrong.secret')
  writeFileSync(secretIdFile, 'wrong')
  const path = join(folder, 'wrong.sock')
  const other = await startProvider(optionsWith(path, { login: { roleId: login.roleId, secretIdFile } }))
  const caller = new ApiServer(path)
  try {
    const logins = () => lines.filter((line) => line.includes('cannot obtain a token')).length
    const before = logins()
    const failures = await Promise.all(
      Array.from({ length: 20 }, () => caller.callRefused('Encrypt', { plaintext })),
    )
    for (const { code, details } of failures) {
      assert.equal(code, status.PERMISSION_DENIED)
      assert.match(details, /answered 4\d\d to the machine's login/)
    }
    assert.ok(logins() - before <= 3, `${logins() - before} logins`)
    // Nothing is known of the key: there is no Status.
    assert.equal((await caller.callRefused('Status', {})).code, status.UNAVAILABLE)
  } finally {
    caller.close()
    await other.stop()
  }
})

test('a socket of another process, or a file, is left alone; one of a killed provider is replaced', async () => {
  assert.equal(statSync(socket).mode & 0o777, 0o600)
  await assert.rejects(startProvider(optionsWith(socket)), /another process already serves on/)
  const file = join(folder, 'file')
  writeFileSync(file, 'mine')
  await assert.rejects(startProvider(optionsWith(file)), /is not a socket/)
  await assert.rejects(
    startProvider(optionsWith(join(folder, 'no', 'kms.sock'))),
    /the folder .* does not exist/,
  )
  await assert.rejects(startProvider(optionsWith(join(folder, 'x'.repeat(120)))), /longer than 107 bytes/)
  assert.equal((await api.call('Status', {})).healthz, 'ok')

  const left = join(folder, 'left.sock')
  const words = ['kubernetes-kms', '--socket', left, '--key', alias, '--home', warder.home]
  const account = ['--role-id', login.roleId, '--secret-id-file', login.secretIdFile]
  const start = () => {
    const child = spawn(process.execPath, [program, ...words, ...account], {
      env: cleanEnvironment({}),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let err = ''
    child.stderr.on('data', (text) => {
      err += text
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const served = until('it serves', () => err.includes('the provider serves') || child.exitCode !== null)
    return { child, ended, served, err: () => err }
  }
  const killed = start()
  await killed.served
  killed.child.kill('SIGKILL')
  await killed.ended
  assert.ok(existsSync(left), 'a killed one leaves its socket')
  const next = start()
  await next.served
  const caller = new ApiServer(left)
  const { ciphertext, key_id } = await caller.call('Encrypt', { plaintext })
  assert.deepEqual(
    (await api.call('Decrypt', { ciphertext, key_id })).plaintext,
    plaintext,
    'any provider decrypts it',
  )
  caller.close()
  next.child.kill('SIGTERM')
  assert.equal(await next.ended, 0, next.err())
  assert.ok(!existsSync(left))
})

test('--check asks the provider at a socket', async () => {
  const told: string[] = []
  const say = (line: string) => void told.push(line)
  const check = (path: string) =>
    kubernetesKms.run(['--socket', path, '--check'], { out: say, err: say, env: {} })
  const keyId = await keyIdNow()
  assert.equal(await check(socket), 0)
  assert.equal(await check(join(folder, 'nobody.sock')), 1)
  assert.equal(told[0], `v2 ok, key id ${keyId}`)
  assert.match(told[1] ?? '', /^warder kubernetes-kms: the provider at .*nobody\.sock does not respond: /)
})

test('what is typed wrongly is told before anything is done', async () => {
  for (const [args, reason] of [
    [['--key', 'k', '--token-file', 'f'], /--socket/],
    [['--socket', 's', '--token-file', 'f'], /--key/],
    [['--socket', 's', '--key', 'k'], /give the credential of the machine/],
    [['--socket', 's', '--key', 'k', '--role-id', 'r'], /give the credential of the machine/],
    [
      ['--socket', 's', '--key', 'k', '--role-id', 'r', '--token-file', 'f'],
      /cannot be combined with --role-id/,
    ],
    [
      ['--socket', 's', '--key', 'k', '--role-id', 'r', '--secret-id-file', 'f', '--url', 'https://h:1'],
      /--auth-url/,
    ],
  ] as const) {
    const terminal = { out: () => undefined, err: () => undefined, env: {} }
    await assert.rejects(kubernetesKms.run(args, terminal), (error: Error) => {
      assert.equal(error.name, 'UsageError')
      assert.match(error.message, reason)
      return true
    })
  }
})

test('metrics count the calls by method and status, and the log holds no secret', async () => {
  const path = join(folder, 'metrics.sock')
  const other = await startProvider(optionsWith(path, { metricsPort: 0 }))
  const caller = new ApiServer(path)
  try {
    const { ciphertext, key_id } = await caller.call('Encrypt', { plaintext, uid: 'u-1' })
    await caller.callRefused('Decrypt', { ciphertext: Buffer.alloc(60), key_id, uid: 'u-2\n' })
    await caller.call('Status', {})
    const text = await (await fetch(`http://127.0.0.1:${other.metricsPort}/metrics`)).text()
    assert.match(text, /warder_operations_total\{operation="kubernetes.Encrypt",status="0"\} 1/)
    assert.match(text, /warder_operations_total\{operation="kubernetes.Decrypt",status="3"\} 1/)
    assert.match(text, /warder_kubernetes_healthy 1/)
    assert.match(text, /warder_kubernetes_token_seconds 3[56]\d\d/)
    const all = lines.join('')
    for (const secret of [plaintext, ciphertext, login.roleId])
      for (const form of [secret.toString(), Buffer.from(secret).toString('base64url')])
        assert.ok(!all.includes(form))
    assert.ok(!all.includes('wt.'))
  } finally {
    caller.close()
    await other.stop()
  }
})

test('while the kms is away Status says so with the key id of before, and all goes on when it is back', async () => {
  const { ciphertext, key_id } = await api.call('Encrypt', { plaintext })
  const pid = warder.pid('kms')
  process.kill(pid, 'SIGSTOP')
  try {
    await until('the kms stands still', () => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
    const slow = await api.callRefused('Encrypt', { plaintext }, 300)
    assert.equal(slow.code, status.DEADLINE_EXCEEDED)
    const { healthz, key_id: kept } = await (async () => {
      for (;;) {
        const now = await api.call('Status', {})
        if (now.healthz !== 'ok') return now
      }
    })()
    assert.match(healthz, /did not respond within/)
    assert.equal(kept, key_id)
    assert.equal((await api.callRefused('Decrypt', { ciphertext, key_id })).code, status.UNAVAILABLE)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await until('Status is well again', async () => (await api.call('Status', {})).healthz === 'ok')
  process.kill(warder.pid('kms'), 'SIGKILL')
  await until('the supervisor has started the kms again', async () => {
    try {
      return (await api.call('Decrypt', { ciphertext, key_id })).plaintext.equals(plaintext)
    } catch {
      return false
    }
  })
})
