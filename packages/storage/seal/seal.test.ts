import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { StartupError, systemClock } from '@warder/base'
import fc from 'fast-check'
import { StorageUnavailable } from '../sql/errors.ts'
import { migrate } from '../sql/migrate.ts'
import { query } from '../sql/query.ts'
import { openSqlite } from '../sql/sqlite.ts'
import type { Database } from '../sql/types.ts'
import { UnknownDataKey } from './envelope.ts'
import { loadRootKeys, type RootKey } from './root-key.ts'
import { rotateRootKey, rotateRootKeyFile } from './rotate.ts'
import { openSeal } from './seal.ts'
import { sealMigrations } from './seal-store.ts'
import { openText, sealText } from './sealed-text.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-seal-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let count = 0

async function database(): Promise<Database> {
  count += 1
  const db = openSqlite({ path: join(folder, `${count}.db`) })
  await migrate(db, 'seal', sealMigrations)
  return db
}

function keyFile(): string {
  count += 1
  return join(folder, `${count}.key`)
}

const fileKeys = (path: string): readonly RootKey[] =>
  loadRootKeys({ kind: 'file', path }, {}, { create: true })
const open = (db: Database, rootKeys: readonly RootKey[], service = 'kms') =>
  openSeal({ db, rootKeys, service, clock: systemClock })
const place = { table: 'managed_object', row: 'a', column: 'material' }
const counts = query<[], { keys: number }>('SELECT COUNT(*) AS keys FROM data_key')

test('what was sealed opens after a restart, in its own place only', async () => {
  const [db, path] = [await database(), keyFile()]
  const sealed = (await open(db, fileKeys(path))).seal(place, Buffer.from('key material'))
  assert.ok(!Buffer.from(sealed).includes('key material'))
  const again = await open(db, fileKeys(path))
  assert.equal(Buffer.from(await again.open(place, sealed)).toString(), 'key material')
  for (const other of [
    { row: 'b' },
    { table: 'other' },
    { column: 'other' },
    { row: 'amaterial', column: '' },
  ]) {
    await assert.rejects(again.open({ ...place, ...other }, sealed))
  }
  await db.close()
})

test('a text for a client opens in its own place only; an outage of the database is not a wrong text', async () => {
  const db = await database()
  const seal = await open(db, fileKeys(keyFile()))
  const text = sealText(seal, place, 'ann, until noon')
  assert.match(text, /^[A-Za-z0-9_-]+$/)
  assert.equal(await openText(seal, place, text), 'ann, until noon')
  for (const wrong of ['', 'x', text.slice(1), text.slice(0, -2), `${text}AAAA`])
    assert.equal(await openText(seal, place, wrong), undefined, wrong)
  assert.equal(await openText(seal, { ...place, row: 'b' }, text), undefined)
  const unavailable = { open: () => Promise.reject(new StorageUnavailable('the database does not respond')) }
  await assert.rejects(openText(unavailable, place, text), StorageUnavailable)
  await db.close()
})

test('every changed bit is noticed', async () => {
  const db = await database()
  const seal = await open(db, fileKeys(keyFile()))
  const sealed = seal.seal(place, Buffer.from('key material'))
  await fc.assert(
    fc.asyncProperty(fc.nat(sealed.length * 8 - 1), async (bit) => {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      await assert.rejects(async () => seal.open(place, changed))
    }),
  )
  for (let length = 0; length < sealed.length; length += 1) {
    await assert.rejects(async () => seal.open(place, sealed.subarray(0, length)))
  }
  await db.close()
})

test('the root key file is made once, for its owner only, and is refused when others can read it', () => {
  const path = keyFile()
  fileKeys(path)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const text = readFileSync(path, 'utf8')
  fileKeys(path)
  assert.equal(readFileSync(path, 'utf8'), text)
  chmodSync(path, 0o640)
  assert.throws(
    () => fileKeys(path),
    (error: unknown) => error instanceof StartupError && /chmod 600/.test(error.message),
  )
  assert.throws(() => loadRootKeys({ kind: 'file', path: keyFile() }, {}, { create: false }), StartupError)
})

test('a wrong root key is named, and nothing is written', async () => {
  const [db, right, wrong] = [await database(), keyFile(), keyFile()]
  await open(db, fileKeys(right))
  const before = await db.get(counts, [])
  await assert.rejects(
    open(db, fileKeys(wrong)),
    (error: unknown) =>
      error instanceof StartupError && error.message.includes(wrong) && /wrong root key/.test(error.message),
  )
  assert.deepEqual(await db.get(counts, []), before)
  await db.close()
})

test('one root key gives each service a key of its own', async () => {
  const [db, path] = [await database(), keyFile()]
  await open(db, fileKeys(path), 'kms')
  await assert.rejects(open(db, fileKeys(path), 'auth'), /wrong root key/)
  await db.close()
})

test('two first runs at once end with one data key', async () => {
  const [db, path] = [await database(), keyFile()]
  const keys = fileKeys(path)
  const [one, two] = await Promise.all([open(db, keys), open(db, keys)])
  assert.deepEqual({ ...(await db.get(counts, [])) }, { keys: 1 })
  assert.equal(Buffer.from(await two.open(place, one.seal(place, Buffer.from('x')))).toString(), 'x')
  await db.close()
})

test('a passphrase and an environment key open what they sealed, and nothing else does', async () => {
  const db = await database()
  const env = { PHRASE: 'correct horse battery', KEY: Buffer.alloc(32, 7).toString('base64url'), SHORT: 'x' }
  const phrase = loadRootKeys({ kind: 'passphrase', variable: 'PHRASE' }, env, { create: false })
  const sealed = (await open(db, phrase)).seal(place, Buffer.from('x'))
  assert.equal(Buffer.from(await (await open(db, phrase)).open(place, sealed)).toString(), 'x')
  const wrong = loadRootKeys(
    { kind: 'passphrase', variable: 'PHRASE' },
    { PHRASE: 'incorrect horse bat' },
    { create: false },
  )
  await assert.rejects(open(db, wrong), /wrong root key: PHRASE/)
  await assert.rejects(
    open(db, loadRootKeys({ kind: 'environment', variable: 'KEY' }, env, { create: false })),
    /KEY/,
  )
  for (const variable of ['SHORT', 'ABSENT']) {
    for (const kind of ['environment', 'passphrase'] as const) {
      assert.throws(() => loadRootKeys({ kind, variable }, env, { create: false }), StartupError)
    }
  }
  await db.close()
})

test('a systemd credential is the root key: of the group by an ACL, never of others, and a missing one is named', async () => {
  const [db, directory] = [await database(), mkdtempSync(join(folder, 'credentials-'))]
  const load = (CREDENTIALS_DIRECTORY?: string) =>
    loadRootKeys({ kind: 'systemd', credential: 'root.key' }, { CREDENTIALS_DIRECTORY }, { create: true })
  const refuses = (message: RegExp, given?: string) =>
    assert.throws(
      () => load(given),
      (error: unknown) => error instanceof StartupError && message.test(error.message),
    )
  refuses(/CREDENTIALS_DIRECTORY is not set: .*LoadCredentialEncrypted=root\.key:FILE/)
  refuses(/passed no credential root\.key/, directory)
  const path = join(directory, 'root.key')
  writeFileSync(path, `${Buffer.alloc(32, 9).toString('base64url')}\n`, { mode: 0o440 })
  const sealed = (await open(db, load(directory))).seal(place, Buffer.from('x'))
  assert.equal(Buffer.from(await (await open(db, load(directory))).open(place, sealed)).toString(), 'x')
  chmodSync(path, 0o444)
  refuses(/can be read by other users/, directory)
  chmodSync(path, 0o600)
  writeFileSync(path, 'short\n')
  refuses(/is not 32 bytes in base64url/, directory)
  await db.close()
})

test('rotation changes the root key and no sealed value', async () => {
  const [auth, kms, path] = [await database(), await database(), keyFile()]
  const sealed = (await open(kms, fileKeys(path))).seal(place, Buffer.from('x'))
  await open(auth, fileKeys(path), 'auth')
  const old = readFileSync(path, 'utf8')
  await rotateRootKeyFile(path, {
    databases: [
      { service: 'auth', db: auth },
      { service: 'kms', db: kms },
    ],
  })
  assert.notEqual(readFileSync(path, 'utf8'), old)
  assert.ok(!existsSync(`${path}.next`))
  assert.equal(Buffer.from(await (await open(kms, fileKeys(path))).open(place, sealed)).toString(), 'x')
  await open(auth, fileKeys(path), 'auth')
  await auth.close()
  await kms.close()
})

test('a rotation without the old root key writes nothing', async () => {
  const [kms, path] = [await database(), `${keyFile()}-absent`]
  const rotation = rotateRootKeyFile(path, { databases: [{ service: 'kms', db: kms }] })
  await assert.rejects(rotation, {
    name: 'StartupError',
    message: `the root key ${path} does not exist; restore it from its backup`,
  })
  assert.ok(!existsSync(`${path}.next`) && !existsSync(`${path}.lock`))
  await kms.close()
})

test('a rotation stopped after any step still opens everything, and can be finished', async () => {
  for (const stopAt of ['next written', 'auth wrapped', 'kms wrapped', 'promoted']) {
    const [auth, kms, path] = [await database(), await database(), keyFile()]
    const databases = [
      { service: 'auth', db: auth },
      { service: 'kms', db: kms },
    ]
    const sealed = (await open(kms, fileKeys(path))).seal(place, Buffer.from('x'))
    await open(auth, fileKeys(path), 'auth')
    const stop = async (step: string): Promise<void> => {
      if (step === stopAt) throw new Error('killed')
    }
    await assert.rejects(rotateRootKeyFile(path, { databases, onStep: stop }), /killed/)
    const works = async (): Promise<void> => {
      await open(auth, fileKeys(path), 'auth')
      assert.equal(
        Buffer.from(await (await open(kms, fileKeys(path))).open(place, sealed)).toString(),
        'x',
        stopAt,
      )
    }
    await works()
    await rotateRootKeyFile(path, { databases })
    assert.ok(!existsSync(`${path}.next`))
    await works()
    await auth.close()
    await kms.close()
  }
})

test('two rotations at once: one is refused, and everything opens', async () => {
  const [kms, path] = [await database(), keyFile()]
  const databases = [{ service: 'kms', db: kms }]
  const sealed = (await open(kms, fileKeys(path))).seal(place, Buffer.from('x'))
  let second: Promise<void> | undefined
  await rotateRootKeyFile(path, {
    databases,
    async onStep() {
      second ??= rotateRootKeyFile(path, { databases })
      second.catch(() => undefined)
    },
  })
  assert.ok(second)
  await assert.rejects(second, /being rotated by process/)
  assert.equal(Buffer.from(await (await open(kms, fileKeys(path))).open(place, sealed)).toString(), 'x')
  await kms.close()
})

test('those that ask for an unknown data key share a look, and the next look waits a while', async () => {
  const [one, two, path] = [await database(), await database(), keyFile()]
  const foreign = (await open(one, fileKeys(path))).seal(place, Buffer.from('x'))
  let reads = 0
  const counting: Database = {
    ...two,
    all(statement, params) {
      reads += 1
      return two.all(statement, params)
    },
  }
  const seal = await open(counting, fileKeys(path))
  const before = reads
  const ask = () => assert.rejects(async () => seal.open(place, foreign), UnknownDataKey)
  await Promise.all(Array.from({ length: 50 }, ask))
  assert.equal(reads - before, 1)
  const began = performance.now()
  for (let index = 0; index < 3; index += 1) await ask()
  assert.equal(reads - before, 4)
  assert.ok(performance.now() - began > 250)
  await one.close()
  await two.close()
})

test('root keys that are not files rotate too', async () => {
  const db = await database()
  const key = (byte: number): RootKey => {
    const [one] = loadRootKeys(
      { kind: 'environment', variable: 'K' },
      { K: Buffer.alloc(32, byte).toString('base64url') },
      { create: false },
    )
    assert.ok(one)
    return one
  }
  const sealed = (await open(db, [key(1)])).seal(place, Buffer.from('x'))
  await rotateRootKey(key(1), key(2), { databases: [{ service: 'kms', db }] })
  await assert.rejects(open(db, [key(1)]), /wrong root key/)
  assert.equal(Buffer.from(await (await open(db, [key(2)])).open(place, sealed)).toString(), 'x')
  await db.close()
})
