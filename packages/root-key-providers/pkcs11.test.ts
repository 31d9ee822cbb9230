import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { StartupError, systemClock } from '@warder/base'
import { openToken } from '@warder/pkcs11'
import { createSofthsmToken, missingSofthsm, missingTools, type SofthsmToken } from '@warder/pkcs11/testing'
import {
  type Database,
  isUnsealed,
  migrate,
  openProvidedRootKey,
  openSeal,
  openSqlite,
  type RootKey,
  sealMigrations,
  testProvider,
} from '@warder/storage'
import { createPkcs11Provider } from './pkcs11.ts'

const skip = missingSofthsm

interface Prepared {
  readonly softhsm: SofthsmToken
  readonly settings: Parameters<typeof createPkcs11Provider>[0]
  database(): Promise<Database>
}

/** A token of its own, whose library finds it by the environment of this process. */
function prepare(t: TestContext): Prepared {
  const softhsm = createSofthsmToken()
  const before = process.env.SOFTHSM2_CONF
  process.env.SOFTHSM2_CONF = softhsm.env.SOFTHSM2_CONF
  t.after(() => {
    if (before === undefined) delete process.env.SOFTHSM2_CONF
    else process.env.SOFTHSM2_CONF = before
    softhsm[Symbol.dispose]()
  })
  let count = 0
  return {
    softhsm,
    settings: {
      'root_key_pkcs11.library': softhsm.library,
      'root_key_pkcs11.token_label': softhsm.label,
      'root_key_pkcs11.slot': undefined,
      'root_key_pkcs11.tokens': [],
      'root_key_pkcs11.pin_file': 'pin',
      'root_key_pkcs11.key_label': 'warder root key',
    },
    async database() {
      count += 1
      const db = openSqlite({ path: join(softhsm.folder, `${count}.db`) })
      t.after(() => db.close())
      await migrate(db, 'seal', sealMigrations)
      return db
    },
  }
}

function create({ softhsm, settings }: Prepared, more: Partial<Prepared['settings']> = {}) {
  return createPkcs11Provider({ ...settings, ...more }, (path) =>
    path.startsWith('/') ? path : join(softhsm.folder, path),
  )
}

function openKeys(
  db: Database,
  provider: ReturnType<typeof create>,
  service = 'kms',
  attempts = 3,
): Promise<readonly RootKey[]> {
  const retries = { attempts, wait: (ms: number) => delay(Math.min(ms, 100)) }
  return openProvidedRootKey({ db, service, provider, create: true, clock: systemClock, retries })
}

async function refuses(run: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof StartupError, String(error))
    assert.match(error.message, message)
    return true
  })
}

const context = { table: 'managed_object', row: 'a', column: 'material' }

test('the first start creates a key in the token, which wraps root keys and does not leave it', {
  skip,
}, async (t) => {
  const prepared = prepare(t)
  const { softhsm } = prepared
  const provider = create(prepared)
  assert.equal(provider.description, `token "warder test" of ${softhsm.library}, key "warder root key"`)
  const [auth, kms] = [await prepared.database(), await prepared.database()]
  const [rootKeys] = await Promise.all([
    openKeys(kms, provider, 'kms', 300),
    openKeys(auth, create(prepared), 'auth', 300),
  ])
  const seal = await openSeal({ db: kms, rootKeys, service: 'kms', clock: systemClock })
  const sealed = seal.seal(context, Buffer.from('x'))
  const again = await openSeal({
    db: kms,
    rootKeys: await openKeys(kms, provider),
    service: 'kms',
    clock: systemClock,
  })
  assert.equal(Buffer.from(await again.open(context, sealed)).toString(), 'x')
  assert.ok(!existsSync(join(softhsm.folder, 'root-key-pkcs11.lock')))

  const { library, label, pinFile } = softhsm
  const token = await openToken({ library, token: { label }, pinFile, sessions: 1 })
  const key = await token.attributes('secret', { label: 'warder root key' })
  await token.close()
  assert.deepEqual([key.sensitive, key.extractable, key.local, key.valueBytes], [true, false, true, 32])
  // The wrapped root key names its key: another label is for new ones.
  const moved = create(prepared, { 'root_key_pkcs11.key_label': 'another' })
  assert.equal((await openKeys(kms, moved)).length, 1)
})

test('a test of the source creates nothing, and says what would', { skip }, async (t) => {
  const prepared = prepare(t)
  const missing =
    /the token has no secret key "warder root key"; the first start, warder root-key move and rotate create/
  await refuses(testProvider(create(prepared), 'kms'), missing)
  await refuses(testProvider(create(prepared), 'kms'), missing)
  await openKeys(await prepared.database(), create(prepared))
  await testProvider(create(prepared), 'kms')
})

test('a key that can leave the token, or is too short, is refused before anything depends on it', {
  skip: skip || missingTools('pkcs11-tool'),
}, async (t) => {
  const prepared = prepare(t)
  const { library, label, pin, run } = prepared.softhsm
  const generate = (...words: readonly string[]): string =>
    run(
      'pkcs11-tool',
      '--module',
      library,
      '--token-label',
      label,
      '--login',
      '--pin',
      pin,
      '--keygen',
      ...words,
    )
  generate('--key-type', 'AES:32', '--label', 'leaves', '--id', '01', '--extractable')
  generate('--key-type', 'AES:16', '--label', 'short', '--id', '02', '--sensitive')
  generate('--key-type', 'AES:32', '--label', 'theirs', '--id', '03', '--sensitive')
  const db = await prepared.database()
  const withKey = (key: string) => create(prepared, { 'root_key_pkcs11.key_label': key })
  await refuses(
    openKeys(db, withKey('leaves')),
    /the key "leaves" of the PKCS#11 token is not sensitive, or can be extracted/,
  )
  await refuses(
    openKeys(db, withKey('short')),
    /the key "short" of the PKCS#11 token has 128 bits instead of 256/,
  )
  assert.ok(await isUnsealed(db))
  assert.equal((await openKeys(db, withKey('theirs'))).length, 1)
  assert.equal((await openKeys(db, withKey('theirs'))).length, 1)
  run(
    'pkcs11-tool',
    '--module',
    library,
    '--token-label',
    label,
    '--login',
    '--pin',
    pin,
    '--delete-object',
    '--type',
    'secrkey',
    '--id',
    '03',
  )
  await refuses(openKeys(db, withKey('theirs')), /the token has no secret key of id 03/)
})

test('settings that name no token, and a PIN, label or library that is wrong, are refused by name', {
  skip,
}, async (t) => {
  const prepared = prepare(t)
  const { pinFile, library } = prepared.softhsm
  const either =
    /requires either root_key_pkcs11\.token_label, root_key_pkcs11\.slot or root_key_pkcs11\.tokens/
  assert.throws(() => create(prepared, { 'root_key_pkcs11.token_label': undefined }), either)
  assert.throws(() => create(prepared, { 'root_key_pkcs11.slot': '5' }), either)
  assert.throws(() => create(prepared, { 'root_key_pkcs11.tokens': ['pkcs11:token=b'] }), either)
  assert.throws(
    () => create(prepared, { 'root_key_pkcs11.library': undefined }),
    /requires root_key_pkcs11\.library/,
  )
  assert.throws(
    () => create(prepared, { 'root_key_pkcs11.pin_file': undefined }),
    /requires root_key_pkcs11\.pin_file/,
  )
  const db = await prepared.database()
  const open = (more: Partial<Prepared['settings']> = {}) => openKeys(db, create(prepared, more))
  await refuses(
    open({ 'root_key_pkcs11.library': '/absent.so' }),
    /cannot load the PKCS#11 library \/absent\.so/,
  )
  await refuses(
    open({ 'root_key_pkcs11.token_label': 'absent' }),
    /^root_key_source: token "absent" of \S+, key "warder root key" cannot be used: .*it has "warder test" \(3 attempts\); without it the root key stays wrapped$/,
  )
  writeFileSync(pinFile, 'wrong')
  await refuses(
    open(),
    /refuses the PIN of \S+ \(C_Login: CKR_PIN_INCORRECT\), which is not tried again until/,
  )
  assert.ok(await isUnsealed(db))
  assert.ok(library !== '')
})
