import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { change, type Database, openPostgres, openSqlite, query } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { cleanEnvironment, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { fillOld, oldHome, oldInstallation } from '../testing/old-installation.ts'
import { program } from '../testing/program.ts'
import { until } from '../testing/until.ts'

// The released version before this one: schema 6 of auth, 17 of the kms.

const old = oldInstallation('auth-6-kms-17')
const postgres = await startTestPostgres()
after(async () => {
  if (!('missing' in postgres)) await postgres.stop()
})

type Service = 'auth' | 'kms'
interface Engine {
  readonly name: string
  readonly skip: string | false
  url(home: string, service: Service): Promise<string>
  open(url: string): Promise<Database>
}

const engines: readonly Engine[] = [
  {
    name: 'SQLite',
    skip: false,
    url: async (home, service) => `sqlite:${join(home, `${service}.db`)}`,
    open: async (url) => openSqlite({ path: url.slice('sqlite:'.length) }),
  },
  {
    name: 'PostgreSQL',
    skip: 'missing' in postgres ? postgres.missing : false,
    async url() {
      assert.ok('database' in postgres)
      return postgres.database()
    },
    open: (url) => openPostgres({ url, readers: 1, writers: 1 }),
  },
]

const newest = query<[component: string], { readonly number: number }>(
  'SELECT MAX(number) AS number FROM schema_migration WHERE component = ?',
)
const foreign = query<[component: string, number: number], unknown>(
  "INSERT INTO schema_migration (component, number, name, checksum, applied_at) VALUES (?, ?, 'of tomorrow', 'x', 0)",
)
const remove = query<[number: number], unknown>('DELETE FROM schema_migration WHERE number = ?')

/** Starts it, and ends all of its processes as soon as the databases say so. */
async function killedStart(
  home: string,
  env: Readonly<Record<string, string>>,
  isTime: () => Promise<boolean>,
): Promise<void> {
  const child = spawn(process.execPath, [program, 'start', '--home', home], {
    env: cleanEnvironment(env),
    stdio: 'ignore',
    detached: true,
  })
  const ended = once(child, 'close')
  await until('it has begun to change a database', isTime)
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  await ended
}

for (const engine of engines)
  test(`an installation of the version before is upgraded as a whole or not at all on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const home = temporaryHome()
    oldHome(home, old)
    const urls = { auth: await engine.url(home, 'auth'), kms: await engine.url(home, 'kms') }
    const inside = async <R>(service: Service, use: (db: Database) => Promise<R>): Promise<R> => {
      const db = await engine.open(urls[service])
      try {
        return await use(db)
      } finally {
        await db.close()
      }
    }
    const schema = (service: Service) =>
      inside(service, async (db) => (await db.get(newest, [service]))?.number)
    for (const service of ['auth', 'kms'] as const) await inside(service, (db) => fillOld(db, old[service]))
    const env = {
      AUTH_DATABASE_URL: urls.auth,
      KMS_DATABASE_URL: urls.kms,
      WARDER_ADMIN_PASSWORD: old.password,
    }
    const check = () => runWarder(['check', '--home', home], env)
    try {
      const before = await check()
      assert.equal(before.code, 0, before.err)
      assert.match(before.out, new RegExp(`^auth  ${engine.name}: schema 6 -> \\d+$`, 'm'))
      assert.match(before.out, new RegExp(`^kms   ${engine.name}: schema 17 -> \\d+$`, 'm'))
      assert.match(before.out, /^ {2}kms 18: aliases of keys\. Nodes of the previous version continue\.$/m)
      assert.match(before.out, /^ {2}kms 19: .* continue; such a node uses disabled keys/m)
      assert.match(before.out, /cannot be started on this database afterwards: make a backup first/)

      // A schema that one service cannot use stops both, before either changes anything.
      await inside('auth', (db) => db.commit([change(foreign, ['auth', 7])]))
      const started = await startInstallation({ home, env }).catch((error: Error) => error)
      assert.ok(started instanceof Error, 'it is not refused')
      assert.match(
        started.message,
        /migration 7 of auth \(of tomorrow\) differs from the one of this program/,
      )
      assert.deepEqual([await schema('auth'), await schema('kms')], [7, 17])
      await inside('auth', (db) => db.commit([change(remove, [7])]))

      // The power goes in the middle of it; the next start goes on from there.
      await killedStart(home, env, async () => (await schema('auth')) !== 6 || (await schema('kms')) !== 17)
      const warder = await startInstallation({ home, env })
      try {
        const headers = { authorization: `Bearer ${await warder.adminToken()}` }
        const kms = warder.client('kms')
        const ask = async (path: string, json: object) => {
          const { status, text } = await kms.ask(path, { json, headers })
          assert.equal(status, 200, text)
          return JSON.parse(text)
        }
        assert.equal((await ask('/v1/crypto/decrypt', old.jwe)).data, old.data)
        assert.equal((await ask('/v1/crypto/verify', { ...old.signature, data: old.data })).valid, true)
        assert.ok(
          (await ask('/v1/crypto/sign', { kid: old.keys.rsa, alg: 'RS256', data: old.data })).signature,
        )
        kms.close()
      } finally {
        assert.equal(await warder.stop(), 0, warder.output())
      }
      const done = await check()
      assert.match(done.out, /^auth .*, nothing to change\nkms .*, nothing to change\n$/)

      // The version of tomorrow was here.
      const number = ((await schema('kms')) ?? 0) + 1
      await inside('kms', (db) => db.commit([change(foreign, ['kms', number])]))
      const refusal = new RegExp(
        `the database is newer than this program: kms has migration ${number} \\(of tomorrow\\), but this program knows ${number - 1}; start the newer version of Warder`,
      )
      const refused = await check()
      assert.equal(refused.code, 1)
      assert.match(refused.err, refusal)
      await assert.rejects(startInstallation({ home, env }), refusal)
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  })
