import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { httpsClient } from '@warder/command-line/https-client'
import { createAgeIdentity } from '@warder/crypto/testing'
import { startTestPostgres } from '@warder/storage/testing'
import { missingPrograms, readCommands, runCommands } from '../testing/guide.ts'
import {
  cleanEnvironment,
  type Installation,
  killAfter,
  runWarder,
  startInstallation,
  succeed,
} from '../testing/installation.ts'
import { command } from '../testing/program.ts'
import { until } from '../testing/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-shares-'))
const postgres = await startTestPostgres()
after(async () => {
  if (!('missing' in postgres)) await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Env = Readonly<Record<string, string>>
const inShares: Env = { AUTH_ROOT_KEY_SOURCE: 'shares', KMS_ROOT_KEY_SOURCE: 'shares' }
const people = ['anna', 'ben', 'carl'].map((name) => ({ name, ...createAgeIdentity() }))

/** The folder of a test, with a home and the list of its holders. */
function makePlace(name: string, holders = people) {
  const place = join(folder, name)
  mkdirSync(join(place, 'home'), { recursive: true, mode: 0o700 })
  const list = join(place, 'holders.txt')
  writeFileSync(list, `# who\n${holders.map((one) => `${one.name}\t${one.recipient}`).join('\n')}\n`)
  const output = join(place, 'shares')
  return {
    home: join(place, 'home'),
    output,
    made: ['--holders', list, '--threshold', '2', '--output', output, '--name', 'test installation'],
  }
}

/** The shares of the newest set, as each holder decrypts the file with their name. */
function decryptShares(output: string, before: readonly string[] = []): readonly string[] {
  const files = readdirSync(output).filter((file) => !before.includes(file))
  return people.map(({ name, decrypt }) => {
    const file = files.find((one) => one.endsWith(`-${name}.age`)) ?? ''
    const path = join(output, file)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    const text = decrypt(readFileSync(path, 'utf8')).toString()
    assert.match(
      text,
      new RegExp(`^warder-share-1\\.\\S+\\n\\nShare \\d of 3 .* of test installation, for ${name}\\.`),
    )
    return text
  })
}

/** Starts an installation that begins sealed, and unseals it. */
async function startUnsealed(home: string, env: Env, shares: readonly string[]): Promise<Installation> {
  const starting = startSealed(home, env)
  await starting.sealed
  for (const share of shares) await succeed(['unseal', '--home', home], {}, share)
  return starting.started
}

/** `sealed` resolves when both services reply on their ports. */
function startSealed(home: string, env: Env) {
  const started = startInstallation({ home, env: { ...inShares, ...env } })
  started.catch(() => undefined)
  const sealed = until('the services are sealed', async () => existsSync(join(home, 'endpoints.json')))
  return { started, sealed: Promise.race([sealed, started]) }
}

async function askKms(warder: Installation, path: string, json: unknown): Promise<Record<string, string>> {
  const token = await warder.adminToken()
  const client = warder.client('kms')
  try {
    const {
      status,
      json: reply,
      text,
    } = await client.ask(path, {
      json,
      headers: { authorization: `Bearer ${token}` },
    })
    assert.ok(status < 300, text)
    return reply as Record<string, string>
  } finally {
    client.close()
  }
}

const mac = async (warder: Installation, kid: string): Promise<string | undefined> =>
  (await askKms(warder, '/v1/crypto/mac', { kid, alg: 'HS256', data: 'eA' })).mac

interface Key {
  readonly kid: string
  readonly mac: string
}

/** Starts the installation for the first time, with the key file, and creates a key. */
async function startFirst(home: string, env: Env = {}): Promise<Key> {
  const warder = await startInstallation({ home, env })
  const { kid = '' } = await askKms(warder, '/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })
  const value = (await mac(warder, kid)) ?? ''
  await warder.stop()
  return { kid, mac: value }
}

const started = join(folder, 'started')
let firstKey: Key
before(async () => {
  mkdirSync(started, { mode: 0o700 })
  firstKey = await startFirst(started)
})

/** Creates a home as after a first start, by a copy of the one that was started. */
function copyFirst(home: string): Key {
  cpSync(started, home, { recursive: true })
  return firstKey
}

test('an installation moves into shares, starts sealed, is unsealed by its holders, and moves back', async () => {
  const { home, output, made } = makePlace('whole')
  const key = copyFirst(home)
  const moved = await succeed(['root-key', 'move', '--to', 'shares', '--home', home, ...made])
  assert.match(moved, /is for anna$[\s\S]*set root_key_source = "shares"/m)
  const [anna = '', ben = '', carl = ''] = decryptShares(output)
  assert.ok(!existsSync(join(home, 'shares.next')))
  for (const text of [anna, ben, carl]) assert.ok(!moved.includes(text.slice(0, 60)))
  const refused = await runWarder(['start', '--home', home])
  assert.match(
    refused.err + refused.out,
    /moved to shares \(2 of 3 shares of set .*set root_key_source = \\?"shares/,
  )

  const starting = startSealed(home, {})
  await starting.sealed
  const caFile = join(home, 'tls', 'ca.crt')
  const endpoints = JSON.parse(readFileSync(join(home, 'endpoints.json'), 'utf8'))
  for (const name of ['auth', 'kms']) {
    const client = httpsClient(endpoints[name].url, caFile)
    const health = await client.ask('/health')
    assert.equal(health.status, 503)
    assert.deepEqual((health.json as { sealed: unknown }).sealed, { entered: 0, threshold: 2 })
    for (const path of ['/', '/login?realm=_', '/v1/sys/health', '/kmip/2_1'])
      assert.deepEqual(
        [(await client.ask(path)).status, ((await client.ask(path)).json as { error: string }).error],
        [503, 'sealed'],
      )
    client.close()
  }
  const kmip = await runWarder(['kmip', 'query', '--home', home])
  assert.match(kmip.out + kmip.err, /The service is sealed: holders of shares/)
  const unhealthy = await runWarder(['health', '--home', home])
  assert.match(unhealthy.err, /responds with 503: .*0 of 2 shares/)
  assert.match(
    await succeed(['unseal', '--home', home], {}, carl),
    /is sealed: 0 of 2[\s\S]*accepted the share: 1 of 2/,
  )
  const twice = await runWarder(['unseal', '--home', home], {}, carl)
  assert.equal(twice.code, 1)
  assert.match(twice.out, /refused the share \(409\): Share 3 was entered before/)
  const encrypted = await runWarder(['unseal', '--home', home], {}, '-----BEGIN AGE ENCRYPTED FILE-----\n')
  assert.match(encrypted.err, /there is no share: .*age --decrypt/)
  assert.match(
    (await runWarder(['unseal', '--home', home], {}, anna + ben)).err,
    /contains 2 shares: each holder enters one/,
  )
  const urls = ['--url', endpoints.auth.url, '--url', endpoints.kms.url, '--ca-file', caFile]
  assert.match(
    await succeed(['unseal', ...urls], {}, anna),
    /is unsealed, and starts[\s\S]*is unsealed, and starts/,
  )
  const warder = await starting.started
  assert.equal(await mac(warder, key.kid), key.mac)
  assert.match(await succeed(['unseal', '--home', home], {}, ben), /is not sealed[\s\S]*is not sealed/)
  assert.match(
    await succeed(['root-key', 'show', '--home', home], inShares),
    /^kms {3}shares$[\s\S]*usable {3}yes$/m,
  )
  await warder.stop()

  const records = await succeed(['audit', 'export', '--home', home, '--operation', 'root_key.unsealed'])
  assert.match(records, /"holders":\["anna","carl"\]/)
  const again = await startUnsealed(home, {}, [ben, carl])
  assert.equal(await mac(again, key.kid), key.mac)
  await again.stop()

  const few = await runWarder(['root-key', 'move', '--to', 'file', '--home', home], inShares, anna)
  assert.match(few.err, /1 of the 2 that are needed were entered: run the command on a terminal/)
  for (const step of ['next written', 'auth wrapped', 'kms wrapped'])
    await killAfter(step, ['root-key', 'move', '--to', 'file', '--home', home], inShares, anna + carl)
  // The last of the killed moves may have been complete.
  const last = await runWarder(['root-key', 'move', '--to', 'file', '--home', home], inShares, ben + carl)
  assert.ok(last.code === 0 || last.err.includes('in file already'), last.err)
  const back = await startInstallation({ home })
  assert.equal(await mac(back, key.kid), key.mac)
  await back.stop()
})

test('a move into shares that is killed at any step is continued with the shares that were made', async () => {
  for (const step of ['is for anna', 'shares written', 'auth wrapped', 'kms wrapped']) {
    const { home, output, made } = makePlace(`killed ${step}`)
    const key = copyFirst(home)
    const words = ['root-key', 'move', '--to', 'shares', '--home', home, ...made]
    await killAfter(step, words)
    const isMade = existsSync(join(home, 'shares.next'))
    const before = isMade ? [] : readdirSync(output)
    if (isMade) {
      const other = await runWarder([...words.with(words.indexOf('--threshold') + 1, '3')])
      assert.match(other.err, /of an interrupted command with other holders \(2 of anna, ben, carl\)/)
    }
    const { code, out, err } = await runWarder(words)
    const isAtEnd = step === 'kms wrapped' && err.includes('in shares already')
    assert.ok(code === 0 || isAtEnd, err)
    if (!isAtEnd) assert.equal(/continued with the shares of set/.test(out + err), isMade)
    const shares = decryptShares(output, isAtEnd ? [] : before)
    const warder = await startUnsealed(home, {}, shares.slice(1))
    assert.equal(await mac(warder, key.kid), key.mac)
    await warder.stop()
  }
})

test('new shares replace those of before, and an interrupted rotation is continued', async () => {
  const { home, output, made } = makePlace('rotated')
  const key = copyFirst(home)
  await succeed(['root-key', 'move', '--to', 'shares', '--home', home, ...made])
  const first = decryptShares(output)
  const rotate = ['root-key', 'rotate', '--home', home, ...made]
  assert.match((await runWarder(rotate, inShares, first[0] ?? '')).err, /1 of the 2/)
  const before = readdirSync(output)
  for (const step of ['shares written', 'auth wrapped'])
    await killAfter(step, rotate, inShares, first.join(''))
  await succeed(rotate, inShares, first.slice(1).join(''))
  const fresh = decryptShares(output, before)
  const starting = startSealed(home, {})
  await starting.sealed
  const old = await runWarder(['unseal', '--home', home], {}, first[0] ?? '')
  assert.match(
    old.out,
    /refused the share \(403\): This share is of set \w{8} of test installation: enter one of set/,
  )
  for (const share of fresh.slice(0, 2)) await succeed(['unseal', '--home', home], {}, share)
  const warder = await starting.started
  assert.equal(await mac(warder, key.kid), key.mac)
  await warder.stop()
})

test('a service that ends while it is unsealed begins with no share, and its supervisor starts it sealed', async () => {
  const { home, output, made } = makePlace('restarted')
  copyFirst(home)
  await succeed(['root-key', 'move', '--to', 'shares', '--home', home, ...made])
  const [anna = '', ben = '', carl = ''] = decryptShares(output)
  const starting = startSealed(home, {})
  await starting.sealed
  await succeed(['unseal', '--home', home], {}, anna)
  await succeed(['unseal', '--home', home], {}, ben)
  const warder = await starting.started
  const kms = warder.client('kms')
  process.kill(warder.pid('kms'), 'SIGKILL')
  const progress = async () =>
    ((await kms.ask('/health').catch(() => undefined))?.json as { sealed?: unknown } | undefined)?.sealed
  await until('the kms is sealed again', async () => (await progress()) !== undefined)
  assert.match(
    await succeed(['unseal', '--home', home], {}, carl),
    /:\d+ is not sealed[\s\S]*accepted the share: 1 of 2/,
  )
  process.kill(warder.pid('kms'), 'SIGKILL')
  await until(
    'it has no share',
    async () => JSON.stringify(await progress()) === '{"entered":0,"threshold":2}',
  )
  for (const share of [anna, carl]) await succeed(['unseal', '--home', home], {}, share)
  await until('the kms serves', async () => (await kms.ask('/health').catch(() => undefined))?.status === 200)
  kms.close()
  await warder.stop()
})

test('commands that need the root key ask for shares, or say how to enter them', async () => {
  const { home, output, made } = makePlace('commands')
  copyFirst(home)
  await succeed(['root-key', 'move', '--to', 'shares', '--home', home, ...made])
  const shares = decryptShares(output)
  const two = shares.slice(0, 2).join('')
  for (const file of ['auth.toml', 'kms.toml'].map((name) => join(home, name)))
    writeFileSync(file, `root_key_source = "shares"\n${readFileSync(file, 'utf8')}`)
  const env = { WARDER_BACKUP_PASSPHRASE: 'a passphrase of backups' }
  const checked = await runWarder(['check', '--home', home], env)
  assert.equal(checked.code, 0, checked.err)
  assert.match(checked.err, /kms: a start waits for shares of the root key \(warder unseal\)/)
  const recover = ['admin', 'recover', '--home', home, '--yes']
  assert.match(
    (await runWarder(recover, env)).err,
    /0 of the 2 that are needed were entered: run the command on a terminal/,
  )
  assert.match(await succeed(recover, env, two), /the administrator admin has a new password/)
  const tested = await succeed(['root-key', 'test', '--to', 'shares', '--home', home], env, two)
  assert.match(tested, /^auth {2}2 of 3 shares of set .*: they open the database\nkms /m)
  const warder = await startUnsealed(home, {}, shares.slice(1))
  const backup = join(home, '..', 'one.backup')
  await succeed(['backup', backup, '--home', home], env)
  await warder.stop()
  const drill = ['drill', backup, '--home', home]
  assert.match((await runWarder(drill, env)).err, /0 of the 2/)
  assert.match(await succeed(drill, env, two), /the drill was successful/)
  const restored = join(home, '..', 'restored')
  await succeed(['restore', backup, '--home', restored, '--from', join(home, 'backup-signing.pub')], env)
  const again = await startUnsealed(restored, {}, shares.slice(0, 2))
  await again.stop()
})

/** Runs a command on a terminal, on which lines are typed when it asks. @returns what the terminal shows */
async function type(words: readonly string[], lines: readonly string[], env: Env) {
  const typed = [...command, ...words].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', typed, '/dev/null'], { env: cleanEnvironment(env) })
  const waiting = [...lines]
  let [shown, seen] = ['', 0]
  child.stdout.on('data', (text: Buffer) => {
    shown += text.toString()
    const asked = /it is not shown; an empty line stops\): |it is not shown\): /g
    for (const count = shown.match(asked)?.length ?? 0; seen < count; seen += 1)
      child.stdin.write(`${waiting.shift() ?? ''}\r`)
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, shown }
}

test('holders enter their shares one after the other at a terminal, which shows none of them', {
  skip: missingPrograms('script'),
}, async () => {
  const { home, output, made } = makePlace('terminal')
  copyFirst(home)
  await succeed(['root-key', 'move', '--to', 'shares', '--home', home, ...made])
  const lines = decryptShares(output).map((text) => text.split('\n')[0] ?? '')
  const [anna = '', , carl = ''] = lines
  const words = ['root-key', 'test', '--to', 'shares', '--home', home]
  const { code, shown } = await type(words, [carl, carl, carl.slice(0, -2), anna], inShares)
  assert.equal(code, 0, shown)
  assert.match(shown, /in shares of set \w{8} of test installation: 2 of anna, ben, carl/)
  assert.match(shown, /share of carl accepted[\s\S]*Share 3 was entered before[\s\S]*not a whole share/)
  assert.match(shown, /share of anna accepted[\s\S]*auth {2}2 of 3 shares[\s\S]*they open the database/)
  assert.ok(!shown.includes(carl.slice(20, 60)) && !shown.includes(anna.slice(20, 60)))
  const stopped = await type(words, [carl, ''], inShares)
  assert.match(stopped.shown, /1 of the 2 that are needed were entered/)
  const starting = startSealed(home, {})
  await starting.sealed
  const entered = await type(['unseal', '--home', home], [anna], {})
  assert.match(entered.shown, /accepted the share: 1 of 2/)
  assert.ok(!entered.shown.includes(anna.slice(20, 60)))
  await succeed(['unseal', '--home', home], {}, carl)
  await (await starting.started).stop()
})

test('holders and options that cannot be shares are refused before anything is written', async () => {
  const { home, output, made } = makePlace('refused')
  copyFirst(home)
  const list = made[1] ?? ''
  const move = (...more: string[]) =>
    runWarder(['root-key', 'move', '--to', 'shares', '--home', home, ...more])
  assert.match((await move()).err, /shares need --holders FILE and --threshold M/)
  assert.match((await move(...made.with(3, '4'))).err, /the threshold must be 2 to 3/)
  assert.match((await move(...made.with(3, '1'))).err, /the threshold must be 2 to 3/)
  for (const [lines, message] of [
    ['anna\n', /line 1: must be NAME age1/],
    [
      `anna ${people[0]?.recipient.slice(0, -1)}q\nben x\n`,
      /line 1: age1\S+ is not an X25519 recipient of age/,
    ],
    ['# x\nanna ssh-ed25519 AAAA\n', /line 2: AAAA is not an X25519/],
    [`anna ${people[0]?.recipient}\n`, /shares need 2 to 32 holders, not 1/],
    [`anna ${people[0]?.recipient}\nben ${people[0]?.recipient}\n`, /two holders have the recipient/],
  ] as const) {
    writeFileSync(list, lines)
    assert.match((await move(...made)).err, message)
  }
  assert.ok(!existsSync(output) && !existsSync(join(home, 'shares.next')))
  const other = await runWarder(['root-key', 'move', '--to', 'file', '--home', home, ...made])
  assert.match(other.err, /--holders, --threshold, --output and --name are for --to shares/)
  const rotated = await runWarder(['root-key', 'rotate', '--home', home, ...made])
  assert.match(rotated.err, /are for shares, and root_key_source is file/)
  const fresh = join(home, '..', 'fresh')
  mkdirSync(fresh, { mode: 0o700 })
  const started = await runWarder(['start', '--home', fresh], inShares)
  assert.match(
    started.out + started.err,
    /the auth database is new, and there are no shares of it: start with root_key_source/,
  )
  assert.match(
    (await runWarder(['unseal', '--url', 'http://127.0.0.1:1'])).err,
    /--url must be an address like https/,
  )
})

test('two nodes of one database are unsealed by different people, each by itself', {
  skip: 'missing' in postgres && postgres.missing,
}, async () => {
  if ('missing' in postgres) return
  const { home, output, made } = makePlace('nodes')
  const env = {
    AUTH_DATABASE_URL: await postgres.database(),
    KMS_DATABASE_URL: await postgres.database(),
    WARDER_ADMIN_PASSWORD: 'a password of admins',
  }
  const key = await startFirst(home, env)
  for (const step of ['shares written', 'auth wrapped'])
    await killAfter(step, ['root-key', 'move', '--to', 'shares', '--home', home, ...made], env)
  await succeed(['root-key', 'move', '--to', 'shares', '--home', home, ...made], env)
  const [anna = '', ben = '', carl = ''] = decryptShares(output)
  const other = join(home, '..', 'other')
  mkdirSync(other, { mode: 0o700 })
  const [one, two] = [
    startSealed(home, env),
    startSealed(other, { ...env, AUTH_NODE_NAME: 'b', KMS_NODE_NAME: 'b' }),
  ]
  await Promise.all([one.sealed, two.sealed])
  await succeed(['unseal', '--home', home], {}, anna)
  await succeed(['unseal', '--home', home], {}, ben)
  const first = await one.started
  assert.equal(await mac(first, key.kid), key.mac)
  const endpoints = JSON.parse(readFileSync(join(other, 'endpoints.json'), 'utf8'))
  const client = httpsClient(endpoints.kms.url, join(other, 'tls', 'ca.crt'))
  assert.deepEqual(((await client.ask('/health')).json as { sealed: unknown }).sealed, {
    entered: 0,
    threshold: 2,
  })
  client.close()
  await succeed(['unseal', '--home', other], {}, ben)
  await succeed(['unseal', '--home', other], {}, carl)
  const second = await two.started
  assert.equal(await mac(second, key.kid), key.mac)
  await first.stop()
  await second.stop()
})

test('the commands of the guide make shares, which the program age decrypts', {
  skip: missingPrograms('age', 'age-keygen'),
}, async () => {
  const { home } = makePlace('guide')
  const place = join(home, '..')
  const key = copyFirst(home)
  const [create = '', move = ''] = readCommands('docs/how-to/root-key.md').filter((block) =>
    /shares|age-keygen/.test(block),
  )
  const lines: string[] = []
  for (const name of ['Anna', 'Ben', 'Carl']) {
    mkdirSync(join(place, name))
    const made = await runCommands([create], join(place, name), {})
    assert.equal(made.status, 0, made.text)
    lines.push(`${name} ${/^age1\w+$/m.exec(made.text)?.[0]}`)
  }
  writeFileSync(join(place, 'holders.txt'), lines.join('\n'))
  const moved = await runCommands([move.replace('/var/lib/warder', home)], place, {})
  assert.equal(moved.status, 0, moved.text)
  const decrypt = (name: string): string => {
    const file = readdirSync(join(place, 'shares')).find((one) => one.endsWith(`-${name}.age`)) ?? ''
    const words = ['--decrypt', '--identity', join(place, name, 'key.txt'), join(place, 'shares', file)]
    return execFileSync('age', words).toString()
  }
  const warder = await startUnsealed(home, {}, [decrypt('Carl'), decrypt('Anna')])
  assert.equal(await mac(warder, key.kid), key.mac)
  await warder.stop()
})
