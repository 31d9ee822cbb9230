import assert from 'node:assert/strict'
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { exportAudit, openAuditLog, readPublicCheckpointKey, verifyAudit } from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import {
  type Database,
  loadRootKeys,
  migrate,
  openPostgres,
  openSeal,
  openSqlite,
  query,
  sealMigrations,
} from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { startInstallation } from '../testing/installation.ts'
import { fillOld, oldHome, oldInstallation } from '../testing/old-installation.ts'
import {
  limitFileSizes,
  noLimits,
  noMounts,
  type Room,
  runOnSmallFileSystem,
  smallFileSystem,
  warderArguments,
} from '../testing/small-disk.ts'
import { until } from '../testing/until.ts'

// Everything that writes to a disk, when that is full: this file runs itself once more on a file system of some megabytes.
// Where none can be mounted, a limit of file sizes stands for it; elsewhere what starts services is left to the other run
// (WARDER_FULL_DISK_LIMITS=1: is not).

const place = process.env.WARDER_SMALL_DISK
const disk = place === undefined ? limitFileSizes() : smallFileSystem(place)
const skip = place === undefined && noLimits
const unmountable = noMounts()
const leftToOther =
  place === undefined && unmountable === false && process.env.WARDER_FULL_DISK_LIMITS === undefined
const skipServices = skip === false && leftToOther ? 'it runs on the file system that is full' : skip
/** A folder on another disk. */
const room = mkdtempSync(join(tmpdir(), 'warder-roomy-'))
after(() => {
  disk.remove()
  rmSync(room, { recursive: true, force: true })
})

const passphraseFile = join(room, 'passphrase')
writeFileSync(passphraseFile, 'correct horse battery staple\n')
const secret = ['--passphrase-file', passphraseFile]
const nothing: Room = { eachFile: 0, wholeDisk: 0 }

/** Runs the command twice: it fails for want of room, and goes on when there is room. @returns what the failure said */
async function fails(room: Room, ...words: readonly string[]): Promise<string> {
  const { code, out, err } = await disk.run(warderArguments(...words), room)
  assert.equal(code, 1, `${out}${err}`)
  assert.match(err, disk.full)
  assert.doesNotMatch(err, /\n\s+at /, 'no trace of a stack')
  return err
}

async function succeeds(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await disk.run(warderArguments(...words))
  assert.equal(code, 0, err)
  return `${out}${err}`
}

test('services on a full disk refuse what they cannot keep, say why, and go on when there is room; so do backups', {
  skip: skipServices,
}, async (t) => {
  const home = join(disk.folder, 'home')
  const warder = await startInstallation({ home })
  const pids = [warder.pid('auth'), warder.pid('kms')]
  const kms = warder.client('kms')
  const auth = warder.client('auth')
  try {
    const headers = { authorization: `Bearer ${await warder.adminToken()}` }
    const create = () => kms.ask('/v1/crypto/keys', { json: { kty: 'oct', alg: 'A256GCM' }, headers })
    const health = async (service: typeof kms) => (await service.ask('/health', {})).status
    const { kid } = JSON.parse((await create()).text)

    await t.test('services', async () => {
      disk.fill(pids)
      const refused = await Promise.all([create(), create(), create()])
      const encrypted = { kid, alg: 'dir', enc: 'A256GCM', data: 'aGVsbG8' }
      refused.push(await kms.ask('/v1/crypto/encrypt', { json: encrypted, headers }))
      for (const { status, text } of refused) {
        assert.equal(status, 503, text)
        assert.match(text, /"error":"(storage_unavailable|audit_unavailable)"/)
      }
      await assert.rejects(warder.adminToken(), /503/)
      // What was found is told for a second.
      await until('neither is healthy', async () => (await health(kms)) + (await health(auth)) === 1006)
      await until('the log says why', () => disk.full.test(warder.output()))
      disk.makeRoom(pids)
      assert.equal((await create()).status, 200)
      assert.ok(await warder.adminToken())
      await until('both say that they work', async () => (await health(kms)) + (await health(auth)) === 400)
      const { status, text } = await kms.ask('/v1/crypto/encrypt', { json: encrypted, headers })
      assert.equal(status, 200, text)
    })

    await t.test('a backup into a full folder leaves nothing there', async () => {
      const target = join(disk.folder, 'backups')
      mkdirSync(target)
      const file = join(target, 'nightly.backup')
      const words = ['backup', file, '--home', home, ...secret]
      for (const left of [nothing, { eachFile: 3000, wholeDisk: 4096 }]) {
        assert.match(await fails(left, ...words), /nightly\.backup cannot be written: .*free disk space/)
        assert.deepEqual([readdirSync(target), existsSync(join(home, 'backup.json'))], [[], false])
      }
      await succeeds(...words)
    })

    await t.test('a backup of a full home is whole, and says that it is not noted', async () => {
      const { code, out, err } = await disk.run(
        warderArguments('backup', '-', '--home', home, ...secret),
        nothing,
      )
      assert.equal(code, 0, err)
      assert.match(err, /backup\.json cannot be written, so \/metrics shows the previous backup/)
      assert.match(err, disk.full)
      assert.ok(!readdirSync(home).includes('backup.json.new'))
      writeFileSync(join(room, 'of-full.backup'), out)
    })
  } finally {
    kms.close()
    auth.close()
    await warder.stop()
  }
  await t.test('a restore into a full home leaves none, and is simply begun again', async () => {
    const restored = join(disk.folder, 'restored')
    const from = ['--from', join(home, 'backup-signing.pub')]
    const words = ['restore', join(room, 'of-full.backup'), '--home', restored, ...from, ...secret]
    for (const left of [nothing, { eachFile: 100_000, wholeDisk: 200_000 }]) {
      await fails(left, ...words)
      assert.ok(!existsSync(restored))
    }
    await succeeds(...words)
    copyFileSync(join(home, 'root.key'), join(restored, 'root.key'))
    assert.match(
      await succeeds('check', '--home', restored),
      /^auth .* nothing to change\nkms .* nothing to change/,
    )
  })
})

test('old audit files are archived, moved and removed without a loss on a disk that is full', {
  skip,
}, async () => {
  const folder = join(disk.folder, 'kms')
  const home = join(room, 'home-of-log')
  await writeLog(folder, home)
  const before = await recordsOf(folder)
  const options = ['--home', home, '--before', new Date().toISOString()]
  const archive = ['audit', 'archive', folder, ...options]
  const archived = () => readdirSync(folder).filter((name) => name.endsWith('.zst')).length
  const requireWhole = async (...folders: readonly string[]) => {
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.new')),
      [],
    )
    assert.deepEqual(await recordsOf(...folders), before)
    await requireVerified(folder)
  }
  const said = await fails({ eachFile: 8192, wholeDisk: 8192 }, ...archive)
  assert.match(
    said,
    /cannot be written: .* is unchanged\. Free disk space, or name a folder on another disk with --to/,
  )
  assert.equal(archived(), 0)
  await requireWhole(folder)

  // A disk without room for one file more lets its files go to another, and be removed.
  const elsewhere = join(room, 'archive')
  if (disk.isFileSystem) {
    const moved = await disk.run(warderArguments(...archive, '--to', elsewhere), nothing)
    assert.equal(moved.code, 0, moved.err)
    await requireWhole(join(elsewhere, 'kms'), folder)
    const other = join(disk.folder, 'other', 'kms')
    const homeOfOther = join(room, 'home-of-other')
    await writeLog(other, homeOfOther)
    const before = new Date().toISOString()
    const prune = ['audit', 'prune', other, '--home', homeOfOther, '--before', before, '--yes']
    const pruned = await disk.run(warderArguments(...prune), nothing)
    assert.equal(pruned.code, 0, pruned.err)
    assert.match(pruned.out.toString(), /^removed audit-0+1\.jsonl/)
    await requireVerified(other)
  } else {
    await fails(nothing, 'audit', 'prune', folder, ...options, '--yes')
    await requireWhole(folder)
    await succeeds(...archive)
    assert.ok(archived() > 0)
    await requireWhole(folder)
  }
})

async function requireVerified(folder: string): Promise<void> {
  const key = readPublicCheckpointKey(folder)
  assert.ok(key)
  assert.ok((await verifyAudit(folder, { thorough: true, keys: [key] })).ok)
}

/** A log of closed files that do not shrink much, and one that is written; the home has what opens its key. */
async function writeLog(folder: string, home: string): Promise<void> {
  mkdirSync(home)
  const db = openSqlite({ path: join(home, 'kms.db') })
  await migrate(db, 'seal', sealMigrations)
  const rootKeys = loadRootKeys({ kind: 'file', path: join(home, 'root.key') }, {}, { create: true })
  const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })
  const log = await openAuditLog({
    folder,
    service: 'kms',
    node: 'n1',
    mode: 'reject',
    rotateBytes: 60_000,
    clock: systemClock,
    log: quietLog,
    seal,
  })
  for (let index = 0; index < 80; index += 1)
    await log.trail.recordDurably({
      time: Date.parse('2026-01-01T00:00:00Z'),
      request_id: '-',
      operation: 'crypto.encrypt',
      principal: 'alice',
      auth_method: 'jwt',
      client_ip: '127.0.0.1',
      outcome: 'success',
      status: 200,
      duration_ms: 0,
      details: { noise: randomBytes(1500).toString('base64') },
    })
  await log.whenIdle()
  await log.close()
  await db.close()
}

async function recordsOf(...folders: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>()
  for (const folder of folders)
    for await (const line of exportAudit({ folder, format: 'json' })) found.add(line)
  return [...found].sort()
}

type Service = 'auth' | 'kms'
interface Engine {
  readonly name: string
  /** Words of its error when its disk is full. */
  readonly full: RegExp
  /** @returns the address of an empty database on the disk; undefined = there is no such engine here */
  url(service: Service): Promise<string | undefined>
  open(url: string): Promise<Database>
}

const sqlite: Engine = {
  name: 'SQLite',
  full: disk.full,
  url: async (service) => `sqlite:${join(disk.folder, `${service}.db`)}`,
  open: async (url) => openSqlite({ path: url.slice('sqlite:'.length) }),
}

/** Its files alone are on the disk that is full: a server that cannot write its log ends. */
const postgresql: Engine = {
  name: 'PostgreSQL',
  full: /No space left on device/,
  async url(service) {
    const folder = join(disk.folder, `postgresql-${service}`)
    mkdirSync(folder, { mode: 0o700 })
    postgres ??= await startTestPostgres({
      own: true,
      prepare: ({ account }) => {
        ownFolder = (path) => account !== undefined && chownSync(path, account.uid, account.gid)
      },
    })
    if ('missing' in postgres) return undefined
    ownFolder(folder)
    return postgres.databaseIn(folder)
  },
  open: (url) => openPostgres({ url, readers: 1, writers: 1 }),
}
let postgres: Awaited<ReturnType<typeof startTestPostgres>> | undefined
let ownFolder: (path: string) => void = () => undefined
after(async () => {
  if (postgres !== undefined && 'stop' in postgres) await postgres.stop()
})

const newest = query<[component: string], { readonly number: number }>(
  'SELECT MAX(number) AS number FROM schema_migration WHERE component = ?',
)

// Files of PostgreSQL have no limit that a test could set.
for (const engine of disk.isFileSystem ? [sqlite, postgresql] : [sqlite])
  test(`an upgrade that finds no room changes nothing by half, and goes on when there is room (${engine.name})`, {
    skip: skipServices,
  }, async (t) => {
    const old = oldInstallation('auth-6-kms-17')
    const home = join(room, `old-${engine.name}`)
    oldHome(home, old)
    const urls: Record<Service, string> = { auth: '', kms: '' }
    for (const service of ['auth', 'kms'] as const) {
      const url = await engine.url(service)
      if (url === undefined) return t.skip('no PostgreSQL can be started here')
      urls[service] = url
    }
    const inside = async <R>(service: Service, use: (db: Database) => Promise<R>): Promise<R> => {
      const db = await engine.open(urls[service])
      try {
        return await use(db)
      } finally {
        await db.close()
      }
    }
    const version = (service: Service) =>
      inside(service, async (db) => (await db.get(newest, [service]))?.number ?? 0)
    for (const service of ['auth', 'kms'] as const) await inside(service, (db) => fillOld(db, old[service]))
    const env = {
      WARDER_ADMIN_PASSWORD: old.password,
      AUTH_DATABASE_URL: urls.auth,
      KMS_DATABASE_URL: urls.kms,
    }
    for (const left of [nothing, { eachFile: 400_000, wholeDisk: 400_000 }]) {
      const { code, out, err } = await disk.run(warderArguments('start', '--home', home), left, env)
      assert.equal(code, 1, `${out}${err}`)
      assert.match(`${out}${err}`, engine.full)
      assert.ok((await version('auth')) >= 6 && (await version('kms')) >= 17)
    }
    if (engine === sqlite && disk.isFileSystem) {
      const small = { eachFile: 0, wholeDisk: 200_000 }
      const { code, err } = await disk.run(warderArguments('check', '--home', home), small, env)
      assert.equal(code, 0, err)
      assert.match(err, /kms\.db has \d+ KiB and its disk \d+ KiB free: an upgrade may need twice/)
    }
    const checked = await disk.run(warderArguments('check', '--home', home), undefined, env)
    assert.equal(checked.code, 0, checked.err)
    assert.match(checked.out.toString(), /schema \d+ -> \d+/)
    const warder = await startInstallation({ home, env })
    try {
      const headers = { authorization: `Bearer ${await warder.adminToken()}` }
      const kms = warder.client('kms')
      const { status, text } = await kms.ask('/v1/crypto/decrypt', { json: old.jwe, headers })
      kms.close()
      assert.deepEqual([status, JSON.parse(text).data], [200, old.data], text)
    } finally {
      assert.equal(await warder.stop(), 0)
    }
  })

test('certificates that cannot be renewed for want of room stay in use, and are renewed when there is room', {
  skip,
}, async () => {
  const program = fileURLToPath(new URL('fixtures/renewing.ts', import.meta.url))
  const folder = join(disk.folder, 'tls')
  const renew = (days: number, left?: Room) => disk.run([program, folder, String(days)], left)
  const files = () =>
    readdirSync(folder)
      .filter((name) => /\.(crt|key)$/.test(name))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
  assert.deepEqual(await renew(0).then(({ code, err }) => [code, err]), [0, ''])
  const before = files()
  // A key finds room, and the certificate only a part of it.
  for (const left of [nothing, { eachFile: 300, wholeDisk: 4096 }]) {
    const { code, err } = await renew(300, left)
    assert.equal(code, 1)
    assert.match(err, /^the certificates in \S+ cannot be created: /)
    assert.match(err, disk.full)
    assert.deepEqual(files(), before)
  }
  assert.deepEqual(await renew(300).then(({ code, err }) => [code, err]), [0, ''])
  const authority = new X509Certificate(readFileSync(join(folder, 'ca.crt')))
  for (const name of ['auth', 'kms']) {
    const certificate = new X509Certificate(readFileSync(join(folder, `${name}.crt`)))
    assert.ok(certificate.checkPrivateKey(createPrivateKey(readFileSync(join(folder, `${name}.key`)))))
    assert.ok(certificate.verify(authority.publicKey))
    assert.ok(!before.includes(readFileSync(join(folder, `${name}.crt`), 'utf8')))
  }
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.new')),
    [],
  )
})

if (place === undefined)
  test('the same on a file system that is full', { skip: unmountable }, async () => {
    const { code, out, err } = await runOnSmallFileSystem(fileURLToPath(import.meta.url))
    assert.equal(code, 0, `${out}${err}`)
  })
