import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { StartupError, systemClock } from '@warder/base'
import { openToken } from '@warder/pkcs11'
import {
  buildFaulty,
  createSofthsmToken,
  missingFaulty,
  missingSofthsm,
  missingTools,
  type SofthsmToken,
} from '@warder/pkcs11/testing'
import {
  type Database,
  migrate,
  moveToProvider,
  openProvidedRootKey,
  openSeal,
  openSqlite,
  type RootKey,
  type RootKeyProvider,
  sealMigrations,
} from '@warder/storage'
import { createPkcs11Provider } from './pkcs11.ts'
import { parseTokenUri } from './pkcs11-settings.ts'
import { rootKeySettings } from './settings.ts'

const skip = missingSofthsm

interface Prepared {
  readonly softhsm: SofthsmToken
  readonly db: Database
  /** @param home a separate home, like that of another machine */
  create(tokens: readonly string[], home?: string): RootKeyProvider
}

async function prepare(t: TestContext, ...labels: readonly string[]): Promise<Prepared> {
  const softhsm = createSofthsmToken('a')
  const before = process.env.SOFTHSM2_CONF
  process.env.SOFTHSM2_CONF = softhsm.env.SOFTHSM2_CONF
  for (const label of labels) softhsm.addToken(label)
  const db = openSqlite({ path: join(softhsm.folder, 'a.db') })
  await migrate(db, 'seal', sealMigrations)
  t.after(async () => {
    await db.close()
    if (before === undefined) delete process.env.SOFTHSM2_CONF
    else process.env.SOFTHSM2_CONF = before
    softhsm[Symbol.dispose]()
  })
  return {
    softhsm,
    db,
    create(tokens, home = softhsm.folder) {
      mkdirSync(home, { recursive: true })
      const config = {
        'root_key_pkcs11.library': softhsm.library,
        'root_key_pkcs11.token_label': undefined,
        'root_key_pkcs11.slot': undefined,
        'root_key_pkcs11.tokens': tokens,
        'root_key_pkcs11.pin_file': softhsm.pinFile,
        'root_key_pkcs11.key_label': 'warder root key',
      }
      return createPkcs11Provider(config, (path) => (path.startsWith('/') ? path : join(home, path)))
    },
  }
}

function open(db: Database, provider: RootKeyProvider, attempts = 1): Promise<readonly RootKey[]> {
  return openProvidedRootKey({
    ...{ db, service: 'kms', provider, create: true, clock: systemClock },
    retries: { attempts },
  })
}

const context = { table: 'managed_object', row: 'a', column: 'material' }

/** Opens the database with the provider, and a value that was sealed in it before. */
async function opens(db: Database, provider: RootKeyProvider, sealed: Uint8Array): Promise<void> {
  const rootKeys = await open(db, provider)
  const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })
  assert.equal(Buffer.from(await seal.open(context, sealed)).toString(), 'x')
}

async function sealOne(db: Database, provider: RootKeyProvider): Promise<Uint8Array> {
  const rootKeys = await open(db, provider)
  const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })
  return seal.seal(context, Buffer.from('x'))
}

test('PKCS#11 URIs name a token, its key, library and PIN file; anything else is refused by name', () => {
  assert.deepEqual(parseTokenUri('pkcs11:token=a%20b;object=k?module-path=/l.so&pin-source=file:/etc/pin'), {
    token: { label: 'a b' },
    ...{ keyLabel: 'k', library: '/l.so', pinFile: '/etc/pin' },
  })
  const plain = { keyLabel: undefined, library: undefined, pinFile: undefined }
  assert.deepEqual(parseTokenUri('pkcs11:slot-id=7'), { token: { slot: 7 }, ...plain })
  for (const pin of ['/etc/pin', 'file:/etc/pin', 'file:///etc/pin'])
    assert.deepEqual(parseTokenUri(`pkcs11:token=a?pin-source=${pin}`), {
      ...{ token: { label: 'a' }, ...plain },
      pinFile: '/etc/pin',
    })
  const { check } = rootKeySettings['root_key_pkcs11.tokens']
  for (const [uris, problem] of [
    [['a'], /must be PKCS#11 URIs like pkcs11:token=LABEL/],
    [['pkcs11:'], /requires either token or slot-id/],
    [['pkcs11:token=a;slot-id=1'], /requires either token or slot-id/],
    [['pkcs11:slot-id=x'], /slot-id must be a number/],
    [[`pkcs11:token=${'a'.repeat(33)}`], /token must have at most 32 bytes/],
    [['pkcs11:token=a;token=b'], /the attribute token is there twice/],
    [['pkcs11:token=%zz'], /the attribute token has no valid value/],
    [['pkcs11:token=a;serial=1'], /the attribute serial is not one of token, slot-id, object, module-path/],
    [['pkcs11:token=a?pin-value=1234'], /the attribute pin-value is not one of/],
    [['pkcs11:token=a?pin-source=|program'], /pin-source must name a file/],
    [['pkcs11:token=a?module-path=l.so'], /module-path and pin-source must be absolute paths/],
    [['pkcs11:token=a;object=%00'], /object must be a label/],
    [['pkcs11:token=a', 'pkcs11:token=a'], /must not contain a token twice/],
    [Array.from({ length: 9 }, (_, index) => `pkcs11:token=${index}`), /must be at most 8 tokens/],
  ] as const)
    assert.match(check?.(uris) ?? '', problem)
  assert.equal(check?.(['pkcs11:token=a', 'pkcs11:token=b']), undefined)
})

test('a root key of several tokens is opened by any of them, and by a setting that names one', {
  skip,
}, async (t) => {
  const { softhsm, db, create } = await prepare(t, 'b')
  const [a, b] = ['pkcs11:token=a', 'pkcs11:token=b;object=second']
  const both = create([a, b])
  assert.match(
    both.description,
    /^2 tokens: token "a" of \S+, key "warder root key"; token "b" of \S+, key "second"$/,
  )
  const sealed = await sealOne(db, both)
  for (const tokens of [[a, b], [b, a], [a], [b]]) await opens(db, create(tokens), sealed)
  const { library } = softhsm
  softhsm.run('softhsm2-util', '--delete-token', '--token', 'a')
  await opens(db, both, sealed)
  await opens(db, create(['pkcs11:token=absent', b]), sealed)
  await assert.rejects(open(db, create([a])), /token "a" of \S+, key "warder root key" cannot be used/)
  softhsm.run('softhsm2-util', '--delete-token', '--token', 'b')
  await assert.rejects(open(db, both), (error: unknown) => {
    assert.ok(error instanceof StartupError)
    assert.match(
      error.message,
      /"a" of \S+: the library has no such token.*; .*"b" of \S+: the library has no/,
    )
    return true
  })
  assert.ok(library !== '')
})

test('a first start with several tokens needs each of them, and leaves an empty database without', {
  skip,
}, async (t) => {
  const { db, create } = await prepare(t, 'b')
  await assert.rejects(
    open(db, create(['pkcs11:token=a', 'pkcs11:token=absent'])),
    /the library has no such token: it has "(?:a", "b|b", "a)"/,
  )
  assert.deepEqual(await open(db, create(['pkcs11:token=a'])).then((keys) => keys.length), 1)
})

test('a token is added and removed by a rotation, and until then says that the root key is not wrapped by it', {
  skip,
}, async (t) => {
  const { db, create } = await prepare(t, 'b', 'c')
  const [a, b, c] = ['pkcs11:token=a', 'pkcs11:token=b', 'pkcs11:token=c']
  const sealed = await sealOne(db, create([a]))
  const rotate = (tokens: readonly string[]): Promise<void> =>
    moveToProvider(create(tokens), {
      databases: [{ db, service: 'kms' }],
      readOld: () => open(db, create(tokens)),
      ...{ now: 1, again: true, retries: { attempts: 1 } },
    })
  await opens(db, create([b, a]), sealed)
  // The token has a key of the label, but not one that wrapped this root key.
  await create([b]).prepare?.()
  await assert.rejects(open(db, create([b])), /no secret key of id [0-9a-f]{32}/)
  await rotate([a, b])
  await opens(db, create([b]), sealed)
  await create([c]).prepare?.()
  await assert.rejects(open(db, create([c])), /not wrapped by token "c" .*: run warder root-key rotate/)
  await rotate([b])
  await assert.rejects(open(db, create([a])), /no secret key of id/)
  await opens(db, create([b]), sealed)
})

test('machines whose first starts are at the same time may create a key each, and all of them open', {
  skip: skip || missingTools('pkcs11-tool'),
}, async (t) => {
  const { softhsm, db, create } = await prepare(t)
  const { library, pin, folder } = softhsm
  const token = ['pkcs11:token=a']
  const machines = ['one', 'two'].map((name) => create(token, join(folder, name)))
  const others = await Promise.all(
    machines.map(async (_, index) => {
      const other = openSqlite({ path: join(folder, `machine-${index}.db`) })
      t.after(() => other.close())
      await migrate(other, 'seal', sealMigrations)
      return other
    }),
  )
  const sealed = await Promise.all(
    machines.map((machine, index) => sealOne(others[index] as Database, machine)),
  )
  // Simulates two nodes that both search for the key before either has created it.
  const generate = ['--login', '--pin', pin, '--keygen', '--key-type', 'AES:32', '--sensitive']
  for (const id of ['00', 'ff'])
    softhsm.run(
      'pkcs11-tool',
      ...['--module', library, '--token-label', 'a', ...generate, '--label', 'warder root key', '--id', id],
    )
  for (const [index, machine] of machines.entries())
    await opens(others[index] as Database, machine, sealed[index] as Uint8Array)
  // New root keys are wrapped by one of them, the same on each machine.
  const [one, two] = machines as [RootKeyProvider, RootKeyProvider]
  const mine = await sealOne(db, one)
  await opens(db, two, mine)
  const [key] = await Promise.all([one.wrap(Buffer.alloc(32), Buffer.from('c'))])
  assert.equal(Buffer.from(key).subarray(3, 4).toString('hex'), '00')
})

test('a key of another token with the same label and identifier is refused as the wrong one', {
  skip: skip || missingTools('pkcs11-tool'),
}, async (t) => {
  const { softhsm, db, create } = await prepare(t, 'b')
  const { library, pin, pinFile } = softhsm
  await sealOne(db, create(['pkcs11:token=a']))
  const token = await openToken({ library, token: { label: 'a' }, pinFile, sessions: 1 })
  const { id = '' } = await token.attributes('secret', { label: 'warder root key' })
  await token.close()
  const generate = ['--login', '--pin', pin, '--keygen', '--key-type', 'AES:32', '--sensitive']
  softhsm.run(
    'pkcs11-tool',
    ...['--module', library, '--token-label', 'b', ...generate, '--label', 'warder root key', '--id', id],
  )
  await assert.rejects(
    open(db, create(['pkcs11:token=b'])),
    /the key there is not the one that wrapped the root key, or the wrapped root key was changed/,
  )
})

/** Wraps or unwraps with the token of the faulty library, in a process of its own. */
const program = `
import { createPkcs11Provider } from './pkcs11.ts'
const [library, home, operation = 'unwrap'] = process.argv.slice(1)
const config = { 'root_key_pkcs11.library': library, 'root_key_pkcs11.token_label': 'faulty', 'root_key_pkcs11.tokens': [],
  'root_key_pkcs11.pin_file': 'pin', 'root_key_pkcs11.key_label': 'any' }
const provider = createPkcs11Provider(config, (path) => path.startsWith('/') ? path : home + '/' + path)
const data = operation === 'wrap' ? new Uint8Array(32) : Uint8Array.of(1, 0, 0, 12, ...new Uint8Array(12), 1)
await provider[operation](data, new Uint8Array()).then(() => 'opened', (error) => error.message).then(console.log)
`

function prepareFaulty(t: TestContext, pin: string) {
  const folder = mkdtempSync(join(tmpdir(), 'warder-pins-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [library, logins, pinFile] = [buildFaulty(folder), join(folder, 'logins'), join(folder, 'pin')]
  writeFileSync(logins, '')
  writeFileSync(pinFile, pin, { mode: 0o600 })
  const faultFile = join(folder, 'fault')
  const env = { ...process.env, LOGIN_LOG: logins, FAULT_FILE: faultFile }
  const run = async (operation: 'wrap' | 'unwrap' = 'unwrap'): Promise<string> => {
    const words = ['--input-type=module', '--no-warnings', '-e', program, library, folder, operation]
    const child = spawn(process.execPath, words, { cwd: import.meta.dirname, env })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
    await new Promise((resolve) => child.once('close', resolve))
    return text.trim()
  }
  return { folder, logins, pinFile, run, setFault: (fault: string) => writeFileSync(faultFile, fault) }
}

test('a key that another machine is creating is used once it has its value', {
  skip: missingFaulty,
}, async (t) => {
  const { run, setFault } = prepareFaulty(t, 'good')
  setFault('no value once')
  assert.equal(await run('wrap'), 'opened')
  setFault('no value')
  assert.match(await run('wrap'), /: C_EncryptInit: CKR_MECHANISM_INVALID$/)
})

test('a wrong PIN reaches the token once, whatever number of processes is started, until its file changes', {
  skip: missingFaulty,
}, async (t) => {
  const { folder, logins, pinFile, run } = prepareFaulty(t, 'evil')
  const count = (): number => readFileSync(logins, 'utf8').length
  const refused =
    /refuses the PIN of \S+ \(C_Login: CKR_PIN_INCORRECT\), which is not tried again until the file/
  for (const text of await Promise.all([run(), run(), run()])) assert.match(text, refused)
  assert.match(await run(), refused)
  assert.equal(count(), 1)
  // The PIN of the token was changed instead, so the file has the same content, but is newer.
  utimesSync(pinFile, new Date(), new Date())
  assert.match(await run(), refused)
  assert.match(await run(), refused)
  assert.equal(count(), 2)
  writeFileSync(pinFile, 'good')
  assert.equal(await run(), 'opened')
  assert.equal(await run(), 'opened')
  assert.equal(count(), 4)
  const records = readdirSync(folder).filter((name) => name.startsWith('root-key-pkcs11.pin.'))
  assert.equal(records.length, 1)
  assert.doesNotMatch(readFileSync(join(folder, records[0] ?? ''), 'utf8'), /good|evil/)
})
