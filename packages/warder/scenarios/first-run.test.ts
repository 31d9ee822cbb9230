import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  type Installation,
  readLinesToPaste,
  runWarder,
  startInstallation,
  temporaryHome,
} from '../testing/installation.ts'
import { until } from '../testing/until.ts'

let warder: Installation
const home = temporaryHome()

before(async () => {
  warder = await startInstallation({ home })
})
after(async () => {
  await warder.stop()
  rmSync(home, { recursive: true, force: true })
})

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

test('the first start makes a home that only its owner can read, and says where the services are', () => {
  assert.equal(statSync(home).mode & 0o777, 0o700)
  for (const file of filesBelow(home)) {
    if (/\.(crt|pub)$/.test(file)) continue
    assert.equal(statSync(file).mode & 0o077, 0, `${file} can be read by others`)
  }
  for (const name of ['auth.toml', 'kms.toml', 'root.key', 'initial-admin-password', 'endpoints.json']) {
    assert.ok(existsSync(join(home, name)), `${name} is missing`)
  }
  assert.ok(warder.output().includes(`"try":"npx warder try --home ${warder.home}"`))
  const lines = warder.output().split('\n')
  for (const line of lines.filter((text) => text !== '')) assert.doesNotThrow(() => JSON.parse(line), line)
  assert.ok(!warder.output().includes(warder.password), 'the password is not in what a log keeps')
})

test('warder try passes all its steps, with a real file too', async () => {
  const file = join(home, 'a-file')
  writeFileSync(file, randomBytes(2_500_000))
  const { code, out, err } = await runWarder(['try', '--home', home, '--file', file])
  rmSync(file)
  assert.equal(code, 0, out + err)
  assert.match(out, /all \d+ steps passed/)
  assert.doesNotMatch(out, /^ {2}NO/m)
})

test('warder health says that both services are up, and that those of another home are not', async () => {
  const up = await runWarder(['health', '--home', home])
  assert.equal(up.code, 0, up.err)
  assert.match(up.out, /^auth https:\S+ is up\nkms https:\S+ is up\n$/)
  const other = temporaryHome()
  const stopped = await runWarder(['health', '--home', other])
  assert.match(stopped.err, /are the services running\?/)
  // Nobody listens there any more.
  const gone = { auth: { url: 'https://127.0.0.1:1' }, kms: { url: warder.kmsUrl } }
  writeFileSync(join(other, 'endpoints.json'), JSON.stringify(gone))
  const down = await runWarder(['health', '--home', other])
  rmSync(other, { recursive: true })
  assert.deepEqual([stopped.code, down.code], [1, 1])
  assert.match(down.err, /^auth https:\/\/127\.0\.0\.1:1 does not respond: /)
})

test('the three lines that the start prints work as they are in a shell', {
  skip: spawnSync('curl', ['--version']).status !== 0 && 'there is no curl here',
}, async () => {
  const lines = readLinesToPaste(warder.output())
  assert.equal(lines.length, 3)
  const answer = await new Promise<string>((resolve, reject) => {
    execFile('sh', ['-eu', '-c', lines.join('\n')], (error, stdout, stderr) => {
      if (error) reject(new Error(stderr))
      else resolve(stdout)
    })
  })
  const sealed = JSON.parse(answer) as Record<string, string>
  assert.deepEqual(Object.keys(sealed).sort(), ['ciphertext', 'encrypted_key', 'iv', 'protected', 'tag'])
})

test('no byte of an imported key is in clear anywhere in the home, in any spelling', async () => {
  const raw = randomBytes(32)
  const kms = warder.client('kms')
  const authorization = `Bearer ${await warder.adminToken()}`
  const k = raw.toString('base64url')
  const made = await kms.ask('/v1/crypto/keys', {
    json: { kty: 'oct', alg: 'A256GCM', k },
    headers: { authorization },
  })
  assert.equal(made.status, 200, made.text)
  const { kid } = made.json as { kid: string }
  const sealed = await kms.ask('/v1/crypto/encrypt', {
    json: { kid, alg: 'dir', enc: 'A256GCM', data: 'aGVsbG8' },
    headers: { authorization },
  })
  assert.equal(sealed.status, 200, sealed.text)
  kms.close()
  const spellings = [
    raw,
    Buffer.from(k),
    Buffer.from(raw.toString('hex')),
    Buffer.from(raw.toString('base64')),
  ]
  for (const file of filesBelow(home)) {
    const bytes = readFileSync(file)
    for (const spelling of spellings) assert.ok(!bytes.includes(spelling), `${file} holds the key`)
  }
  assert.ok(!warder.output().includes(k))
  const databases = filesBelow(home).map((file) => readFileSync(file))
  assert.ok(
    databases.some((bytes) => bytes.includes(kid)),
    'the search looks where the key is stored',
  )
})

test('each step is in the audit log, without secrets, and the chain verifies', async () => {
  const log = (service: string): string =>
    readdirSync(join(home, 'audit', service))
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => readFileSync(join(home, 'audit', service, name), 'utf8'))
      .join('')
  const logged = log('auth').length
  const bearer = await warder.adminToken()
  const kms = warder.client('kms')
  assert.equal((await kms.ask('/v1/crypto/keys', { json: { kty: 'oct', alg: 'A256GCM' } })).status, 401)
  kms.close()
  // Records of successes and refusals are written after the answer, several at a time.
  await until('the login and the refusal are written', () => {
    const [ofAuth, ofKms] = [log('auth'), log('kms')]
    return (
      ofAuth.length > logged &&
      ofAuth.endsWith('\n') &&
      ofKms.includes('"status":401') &&
      ofKms.endsWith('\n')
    )
  })
  const { code, out } = await runWarder(['audit', 'verify', '--home', home])
  assert.equal(code, 0, out)
  const kmsLog = log('kms')
  assert.match(kmsLog, /"status":401/)
  assert.match(kmsLog, /"principal":"unauthenticated"/)
  for (const text of [log('auth'), kmsLog]) {
    assert.ok(!text.includes(warder.password) && !text.includes(bearer))
  }
  const exported = await runWarder(['audit', 'export', '--home', home, '--format', 'cef'])
  assert.match(exported.out, /^CEF:0\|/m)
})

test('a changed audit line is found and named, exit code 1', async () => {
  const folder = join(home, 'audit', 'kms')
  const name = readdirSync(folder).find((candidate) => candidate.endsWith('.jsonl')) ?? ''
  const copy = join(home, 'changed.jsonl')
  writeFileSync(
    copy,
    readFileSync(join(folder, name), 'utf8').replace('"outcome":"success"', '"outcome":"failure"'),
  )
  const { code, out } = await runWarder(['audit', 'verify', copy])
  assert.equal(code, 1)
  assert.match(out, /BROKEN .*changed\.jsonl:\d+: /)
})

test('it stops in order on SIGTERM with code 0, and starts again with the same keys', async () => {
  const authorization = `Bearer ${await warder.adminToken()}`
  const first = warder.client('kms')
  const made = await first.ask('/v1/crypto/keys', {
    json: { kty: 'oct', alg: 'HS256' },
    headers: { authorization },
  })
  const { kid } = made.json as { kid: string }
  const request = { kid, alg: 'HS256', data: 'aGVsbG8' }
  const before = await first.ask('/v1/crypto/mac', { json: request, headers: { authorization } })
  first.close()
  assert.equal(await warder.stop(), 0, warder.output())
  assert.ok(!existsSync(join(home, 'endpoints.json')))
  warder = await startInstallation({ home })
  const second = warder.client('kms')
  const again = await second.ask('/v1/crypto/mac', {
    json: request,
    headers: { authorization: `Bearer ${await warder.adminToken()}` },
  })
  second.close()
  assert.deepEqual(again.json, before.json)
})
