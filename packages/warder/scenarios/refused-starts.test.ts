import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { cleanEnvironment, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { program } from '../testing/program.ts'

const home = temporaryHome()

before(async () => {
  const warder = await startInstallation({ home })
  assert.equal(await warder.stop(), 0)
})
after(() => rmSync(home, { recursive: true, force: true }))

/** The start ends with code 1 and one line that matches; nothing else is said. */
async function refused(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  line: RegExp,
): Promise<void> {
  const { code, err } = await runWarder(args, env)
  assert.equal(code, 1, err)
  const lines = err.split('\n').filter((text) => text.startsWith('warder '))
  assert.equal(lines.length, 1, err)
  assert.match(lines[0] ?? '', line)
  assert.doesNotMatch(err, /\n {4}at /, 'no stack trace for a person')
}

test('a wrong root key is named, and nothing is written', async () => {
  const key = readFileSync(join(home, 'root.key'))
  const databases = ['auth', 'kms'].map((name) => join(home, `${name}.db`))
  const before = databases.map((file) => readFileSync(file))
  const other = temporaryHome()
  const warder = await startInstallation({ home: other })
  await warder.stop()
  writeFileSync(join(home, 'root.key'), readFileSync(join(other, 'root.key')))
  try {
    await refused(['kms', '--home', home], {}, /root key/)
    await refused(['auth', '--home', home], {}, /root key/)
  } finally {
    writeFileSync(join(home, 'root.key'), key)
    rmSync(other, { recursive: true })
  }
  assert.deepEqual(
    databases.map((file) => readFileSync(file)),
    before,
  )
})

test('a second start in the same home is refused at once, and the first one is still found', async () => {
  const other = temporaryHome()
  const first = await startInstallation({ home: other })
  try {
    const { code, out } = await runWarder(['kmip', 'query', '--home', other])
    assert.equal(code, 0, out)
  } finally {
    await first.stop()
  }
  rmSync(other, { recursive: true })
})

test('a port in use is named', async () => {
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  const { port } = holder.address() as { port: number }
  await refused(
    ['auth', '--home', home],
    { AUTH_PORT: String(port) },
    new RegExp(`127\\.0\\.0\\.1:${port}: the port is in use`),
  )
  for (const name of ['AUTH_PORT', 'KMS_PORT', 'KMS_SOCKET_SERVER_PORT']) {
    const line = new RegExp(`^warder start: \\w+ \\(${name}\\): cannot listen on 127\\.0\\.0\\.1:${port}: `)
    await refused(['start', '--home', home], { [name]: String(port) }, line)
  }
  holder.close()
})

test('a home that cannot be made or written is named', async () => {
  writeFileSync(join(home, 'file'), '')
  await refused(['kms', '--home', join(home, 'file', 'home')], {}, /home folder/)
  const open = join(home, 'open')
  mkdirSync(open)
  chmodSync(open, 0o777)
  await refused(['kms', '--home', open], {}, /chmod 700/)
})

test('a broken TLS file is named', async () => {
  const broken = join(home, 'broken.crt')
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  await refused(['auth', '--home', home], { AUTH_TLS_CERT_FILE: broken }, /broken\.crt/)
})

test('an unknown setting is named with its file and line, and the nearest name', async () => {
  const file = join(home, 'kms.toml')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, `rate_limit_per_secnd = 5\n${text}`)
  try {
    await refused(['kms', '--home', home], {}, /kms\.toml:1: .*rate_limit_per_secnd.*rate_limit_per_second/)
  } finally {
    writeFileSync(file, text)
  }
})

test('a bad value is named wherever it comes from', async () => {
  await refused(
    ['kms', '--home', home],
    { KMS_AUDIT_FAILURE_MODE: 'perhaps' },
    /KMS_AUDIT_FAILURE_MODE.*perhaps/,
  )
  await refused(['kms', '--home', home, '--port', '70000'], {}, /--port.*70000/)
})

test('a FIPS provider that is required and not there is named', async () => {
  const env = { KMS_FIPS: 'true', KMS_FIPS_PROVIDER_REQUIRED: 'true' }
  await refused(['kms', '--home', home], env, /FIPS provider is not active/)
})

test('the root key file that others can read is refused', async () => {
  chmodSync(join(home, 'root.key'), 0o644)
  try {
    await refused(['kms', '--home', home], {}, /root\.key/)
  } finally {
    chmodSync(join(home, 'root.key'), 0o600)
  }
  assert.equal(statSync(join(home, 'root.key')).mode & 0o777, 0o600)
})

test('too few files that may be opened are named, without a stack trace', {
  skip: process.platform === 'linux' ? false : 'the limit is read from /proc',
}, () => {
  for (const command of [['start'], ['kms']]) {
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', 'ulimit -n 32 && exec "$0" "$@"', process.execPath, program, ...command, '--home', home],
      { encoding: 'utf8', env: cleanEnvironment({}) },
    )
    assert.equal(status, 1, stderr)
    assert.match(
      stderr,
      /^warder \w+: this process may open 32 files, but a service requires at least 256.*ulimit -n/,
    )
    assert.doesNotMatch(stderr, /\n {4}at /)
  }
})

test('an audit log that was deleted, or cut off, is named by a start and by verify; its loss is accepted once', async () => {
  const other = temporaryHome()
  try {
    assert.equal(await (await startInstallation({ home: other })).stop(), 0)
    const verify = () => runWarder(['audit', 'verify', '--home', other])
    assert.equal((await verify()).code, 0)
    const folder = join(other, 'audit', 'kms')
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
    const whole = readFileSync(join(folder, file), 'utf8')
    writeFileSync(join(folder, file), `${whole.split('\n').slice(0, 2).join('\n')}\n`)
    assert.match(
      (await verify()).out,
      /MISSING \S+kms: ends with record 2, but the database recorded \d+ records/,
    )
    const line =
      /the audit log in \S+kms ends with record 2, but the database recorded \d+ records.*--accept-rollback/
    assert.match((await runWarder(['kms', '--home', other])).err, line)
    rmSync(folder, { recursive: true })
    const gone = await runWarder(['kms', '--home', other])
    assert.match(
      gone.err,
      /the audit log in \S+kms is missing, but the database recorded \d+ records.*--accept-rollback/,
    )
    assert.equal(existsSync(folder), false, 'no new log hides it')
    const accepted = await startInstallation({ home: other, args: ['--accept-rollback'] })
    assert.equal(await accepted.stop(), 0)
    assert.match(readFileSync(join(folder, file), 'utf8'), /"operation":"audit\.loss_accepted"/)
    assert.equal(await (await startInstallation({ home: other })).stop(), 0)
    assert.equal((await verify()).code, 0)
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
})
