import assert from 'node:assert/strict'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { StartupError, systemClock } from '@warder/base'
import { ensureLocalAuthority } from '@warder/server'
import {
  type Database,
  isUnsealed,
  loadRootKeys,
  migrate,
  moveToFile,
  moveToKey,
  moveToProvider,
  openPostgres,
  openProvidedRootKey,
  openSeal,
  openSqlite,
  query,
  type RootKey,
  sealMigrations,
} from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { createTransitProvider } from './transit.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-transit-'))
await ensureLocalAuthority({
  folder,
  clock: systemClock,
  certificates: [{ name: 'server', commonName: 'Server' }],
})

/** Replies in place of the server: a status, with a body or the members of one; undefined = as the server does. */
type Fault = (
  path: string,
  token: string | undefined,
) => readonly [status: number, body: unknown] | undefined | 'hang'

let fault: Fault = () => undefined
const paths: string[] = []
const transitKey = randomBytes(32)

/** Transit as far as a root key needs it: AES-GCM with associated data. */
function crypt(verb: string, body: Record<string, string>): Record<string, string> {
  const aad = Buffer.from(body.associated_data ?? '', 'base64')
  if (verb === 'encrypt') {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', transitKey, iv).setAAD(aad)
    const data = Buffer.concat([cipher.update(Buffer.from(body.plaintext ?? '', 'base64')), cipher.final()])
    return { ciphertext: `vault:v1:${Buffer.concat([iv, data, cipher.getAuthTag()]).toString('base64')}` }
  }
  const bytes = Buffer.from((body.ciphertext ?? '').slice('vault:v1:'.length), 'base64')
  const decipher = createDecipheriv('aes-256-gcm', transitKey, bytes.subarray(0, 12)).setAAD(aad)
  decipher.setAuthTag(bytes.subarray(-16))
  const plain = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
  return { plaintext: plain.toString('base64') }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const path = (request.url ?? '').slice('/v1/'.length)
  paths.push(path)
  const scripted = fault(path, request.headers['x-vault-token'] as string | undefined)
  if (scripted === 'hang') return
  const reply = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  if (scripted !== undefined) return reply(...scripted)
  if (path === 'auth/approle/login') return reply(200, { auth: { client_token: `t${paths.length}` } })
  if (path === 'auth/token/renew-self') return reply(200, { auth: { client_token: 'same' } })
  try {
    const verb = path.split('/')[1] ?? ''
    reply(200, { data: crypt(verb, JSON.parse(Buffer.concat(parts).toString())) })
  } catch {
    reply(400, { errors: ['cipher: message authentication failed'] })
  }
}

const server = createServer(
  { cert: readFileSync(join(folder, 'server.crt')), key: readFileSync(join(folder, 'server.key')) },
  (request, response) => void serve(request, response),
)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo
after(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

const secretIdFile = join(folder, 'secret-id')
writeFileSync(secretIdFile, 'secret\n', { mode: 0o600 })
const settings = {
  outbound_ca_file: join(folder, 'ca.crt'),
  proxy: undefined,
  'root_key_transit.url': `https://127.0.0.1:${port}`,
  'root_key_transit.mount': 'transit',
  'root_key_transit.key': 'warder',
  'root_key_transit.namespace': undefined,
  'root_key_transit.token_file': undefined as string | undefined,
  'root_key_transit.approle_mount': 'approle',
  'root_key_transit.role_id': 'role' as string | undefined,
  'root_key_transit.secret_id_file': secretIdFile as string | undefined,
  'root_key_transit.ca_file': undefined,
}
const create = (more: Partial<typeof settings> = {}) =>
  createTransitProvider({ ...settings, ...more }, (path) => path)

let count = 0
async function database(): Promise<Database> {
  count += 1
  const db = openSqlite({ path: join(folder, `${count}.db`) })
  after(() => db.close())
  await migrate(db, 'seal', sealMigrations)
  return db
}

interface OpenOptions {
  readonly service?: string
  readonly provider?: ReturnType<typeof create>
  readonly waits?: number[]
  readonly timeoutMs?: number
  readonly attempts?: number
}

function openKeys(db: Database, options: OpenOptions = {}): Promise<readonly RootKey[]> {
  const { service = 'kms', provider = create(), waits = [], timeoutMs = 30_000, attempts = 5 } = options
  const wait = async (ms: number): Promise<void> => void waits.push(ms)
  const retries = { wait, timeoutMs, attempts }
  return openProvidedRootKey({ db, service, provider, create: true, clock: systemClock, retries })
}

async function refuses(run: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof StartupError, String(error))
    assert.match(error.message, message)
    return true
  })
}

async function withFault(replies: Fault, run: () => Promise<unknown>): Promise<void> {
  fault = replies
  paths.length = 0
  try {
    await run()
  } finally {
    fault = () => undefined
  }
}

const context = { table: 'managed_object', row: 'a', column: 'material' }
const openSealed = async (db: Database, rootKeys: readonly RootKey[], service = 'kms') =>
  openSeal({ db, rootKeys, service, clock: systemClock })

const postgres = await startTestPostgres()
after(async () => {
  if ('stop' in postgres) await postgres.stop()
})
const again = 'a root key that transit wraps opens its database again; two first runs at once end with one'

test(again, async () => openAgain(await database()))

test(`${again}, on PostgreSQL`, { skip: 'missing' in postgres ? postgres.missing : false }, async () => {
  assert.ok('database' in postgres)
  const db = await openPostgres({ url: await postgres.database(), readers: 1, writers: 2 })
  await migrate(db, 'seal', sealMigrations)
  await openAgain(db)
  const file = join(folder, 'postgresql.key')
  const options = { databases: [{ service: 'kms', db }], readOld: () => openKeys(db), now: 1 }
  await moveToFile(file, options)
  const rootKeys = loadRootKeys({ kind: 'file', path: file }, {}, { create: false })
  await openSealed(db, rootKeys)
  await moveToProvider(create(), { ...options, readOld: async () => rootKeys, again: false })
  await openSealed(db, await openKeys(db))
  await db.close()
})

async function openAgain(db: Database): Promise<void> {
  const [one = [], two = []] = await Promise.all([openKeys(db), openKeys(db)])
  const sealed = (await openSealed(db, one)).seal(context, Buffer.from('x'))
  for (const rootKeys of [two, await openKeys(db)])
    assert.equal(Buffer.from(await (await openSealed(db, rootKeys)).open(context, sealed)).toString(), 'x')
}

test('a server that is sealed or away is retried a bounded number of times, and then named', async () => {
  const db = await database()
  let left = 2
  const waits: number[] = []
  const sealed: Fault = (path) => {
    left -= path.startsWith('transit/') ? 1 : 0
    return left >= 0 && path.startsWith('transit/') ? [503, { errors: ['Vault is sealed'] }] : undefined
  }
  await withFault(sealed, () => openKeys(db, { waits }))
  assert.deepEqual(waits, [1000, 2000])
  await withFault(
    () => [503, { errors: ['Vault is sealed\n'] }],
    () =>
      refuses(
        openKeys(db, { waits }),
        /^root_key_source: https:\/\/127\.0\.0\.1:\d+ transit\/warder cannot be used: auth\/approle\/login replied 503: Vault is sealed +\(5 attempts\); without it the root key stays wrapped$/,
      ),
  )
  assert.deepEqual(waits.slice(2), [1000, 2000, 4000, 8000])
  const gone = create({ 'root_key_transit.url': 'https://127.0.0.1:9' })
  await refuses(
    openKeys(db, { provider: gone }),
    /127\.0\.0\.1:9 transit\/warder cannot be used: .*ECONNREFUSED/,
  )
})

test('a server that does not reply, or replies too much or something else, ends the attempt', async () => {
  const db = await database()
  await openKeys(db)
  const hang = () => openKeys(db, { timeoutMs: 100, attempts: 1 })
  await withFault(
    () => 'hang',
    () => refuses(hang(), /no response within 100 ms/),
  )
  const large: Fault = (path) => (path.startsWith('transit/') ? [200, 'x'.repeat(70_000)] : undefined)
  await withFault(large, () =>
    refuses(openKeys(db), /cannot wrap the root key: the peer sent more than 65536 bytes/),
  )
  const other: Fault = (path) => (path.startsWith('transit/') ? [200, { data: {} }] : undefined)
  await withFault(other, () => refuses(openKeys(db), /without plaintext: is it a transit engine\?/))
  const plain =
    (bytes: Buffer): Fault =>
    (path) =>
      path.startsWith('transit/decrypt')
        ? [200, { data: { plaintext: bytes.toString('base64') } }]
        : undefined
  await withFault(plain(Buffer.from('short')), () =>
    refuses(openKeys(db), /returned 5 bytes, not a root key of 32/),
  )
  await withFault(plain(randomBytes(32)), () =>
    refuses(
      openKeys(db),
      /wrong root key: https:\S+ transit\/warder returned a value that does not match the check value of the kms database/,
    ),
  )
})

test('a token that has expired is replaced by a new login, once; a refusal that stays is reported', async () => {
  const [db, provider] = [await database(), create()]
  await openKeys(db, { provider })
  const valid = paths.length
  let expired: string | undefined
  const expire: Fault = (path, token) => {
    if (!path.startsWith('transit/')) return undefined
    expired ??= token
    return token === expired ? [403, { errors: ['permission denied'] }] : undefined
  }
  assert.ok(valid > 0)
  await withFault(expire, () => openKeys(db, { provider }))
  assert.deepEqual(paths, ['transit/decrypt/warder', 'auth/approle/login', 'transit/decrypt/warder'])
  const denied: Fault = (path) =>
    path.startsWith('transit/') ? [403, { errors: ['permission denied'] }] : undefined
  await withFault(denied, () =>
    refuses(openKeys(db, { provider }), /refused transit\/decrypt\/warder with 403: permission denied/),
  )
  assert.equal(paths.length, 3)
})

test('the token of a file is renewed, read again at each use, and refused when others can read the file', async () => {
  const [db, tokenFile] = [await database(), join(folder, 'token')]
  const more = { 'root_key_transit.role_id': undefined, 'root_key_transit.secret_id_file': undefined }
  writeFileSync(tokenFile, 'first\n', { mode: 0o600 })
  const provider = create({ ...more, 'root_key_transit.token_file': tokenFile })
  const seen = new Set<string | undefined>()
  const watch: Fault = (_, token) => {
    seen.add(token)
    return undefined
  }
  await withFault(watch, () => openKeys(db, { provider }))
  assert.deepEqual(paths.slice(0, 2), ['auth/token/renew-self', 'transit/encrypt/warder'])
  writeFileSync(tokenFile, 'second\n')
  await withFault(watch, () => openKeys(db, { provider }))
  assert.deepEqual([...seen], ['first', 'second'])
  chmodSync(tokenFile, 0o640)
  if (process.getuid?.() === 0) chmodSync(tokenFile, 0o644)
  await refuses(openKeys(db, { provider }), /root_key_transit\.token_file: \S+ can be read by others/)
  assert.throws(() => create(more), /requires root_key_transit\.token_file, or root_key_transit\.role_id/)
  assert.throws(
    () => create({ 'root_key_transit.key': undefined as never }),
    /requires root_key_transit\.key/,
  )
})

test('a wrapped root key of another service or database is refused by its name', async () => {
  const [auth, kms] = [await database(), await database()]
  await openKeys(auth, { service: 'auth' })
  await openKeys(kms)
  const wrapped = query<[], { wrapped: Uint8Array }>('SELECT wrapped FROM root_key_source')
  const foreign = await auth.get(wrapped, [])
  assert.ok(foreign)
  const replace = query<[Uint8Array], unknown>('UPDATE root_key_source SET wrapped = ?')
  const put = (bytes: Uint8Array) => kms.commit([{ query: replace, params: [bytes] } as never])
  await put(foreign.wrapped)
  await refuses(
    openKeys(kms),
    /belongs to the auth database [0-9a-f]{32}, not to the kms database [0-9a-f]{32}/,
  )
  await put(Buffer.from('x'))
  await refuses(openKeys(kms), /belongs to no database of Warder/)
})

test('a first run whose credential may not unwrap writes nothing', async () => {
  const db = await database()
  const denied: Fault = (path) =>
    path.startsWith('transit/decrypt') ? [403, { errors: ['permission denied'] }] : undefined
  await withFault(denied, () => refuses(openKeys(db), /refused transit\/decrypt\/warder with 403/))
  assert.ok(await isUnsealed(db))
})

test('a move that stops after any step leaves databases that open, and can be finished', async () => {
  const provider = create()
  for (const stopAt of [
    'auth new key',
    'auth wrapped',
    'kms new key',
    'kms wrapped',
    'next written',
    'promoted',
  ]) {
    const path = join(folder, `${stopAt}.key`)
    const file = () => loadRootKeys({ kind: 'file', path }, {}, { create: true })
    const databases: { readonly service: string; readonly db: Database }[] = []
    for (const service of ['auth', 'kms']) databases.push({ service, db: await database() })
    const values: Uint8Array[] = []
    for (const { service, db } of databases)
      values.push((await openSealed(db, file(), service)).seal(context, Buffer.from('x')))
    /** The keys of the source in which the database is. */
    const readOld = async ({ service, db }: { readonly service: string; readonly db: Database }) => {
      const source = query<[], { source: string }>('SELECT source FROM root_key_source')
      const isWrapped = (await db.get(source, []))?.source === 'transit'
      return isWrapped ? openKeys(db, { service, provider }) : file()
    }
    const works = async (): Promise<void> => {
      for (const [at, { service, db }] of databases.entries()) {
        const seal = await openSealed(db, await readOld({ service, db }), service)
        const opened = await seal.open(context, values[at] ?? new Uint8Array())
        assert.equal(Buffer.from(opened).toString(), 'x', stopAt)
      }
    }
    const options = { databases, readOld, now: 1 }
    const stop = { ...options, onStep: async (step: string) => assert.notEqual(step, stopAt, 'killed') }
    const isOfFile = ['next written', 'promoted'].includes(stopAt)
    const toTransit = (more = options) => moveToProvider(provider, { ...more, again: false })
    if (isOfFile) await toTransit()
    else await assert.rejects(toTransit(stop), /killed/)
    await works()
    await toTransit()
    await works()
    if (!isOfFile && !stopAt.endsWith('wrapped')) continue
    await assert.rejects(moveToFile(path, stop), /killed/)
    await works()
    await moveToFile(path, options)
    await works()
    assert.ok(!existsSync(`${path}.next`))
    const env = { KEY: Buffer.alloc(32, 5).toString('base64url') }
    const [fresh] = loadRootKeys({ kind: 'environment', variable: 'KEY' }, env, { create: false })
    assert.ok(fresh)
    await moveToKey(fresh, 'environment', options)
    for (const { service, db } of databases) await openSealed(db, [fresh], service)
    await assert.rejects(
      openSealed(databases[0]?.db as Database, file(), 'auth'),
      /auth database was moved to environment \(KEY\) at 1970\S+: set root_key_source = "environment"/,
    )
  }
})
