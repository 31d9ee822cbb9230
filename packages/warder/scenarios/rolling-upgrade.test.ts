import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { change, openPostgres, query } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { newUser } from '../testing/in-process.ts'
import { type Installation, startInstallation, temporaryHome } from '../testing/installation.ts'
import {
  createAuthority,
  type NodeUser,
  openNodeUser,
  plaintext,
  workTogether,
} from '../testing/neighbours.ts'
import { until } from '../testing/until.ts'

// Nodes of two versions on one database. This version is the older one; the newer one is this program with a migration
// more (testing/next-version.mjs). WARDER_OLD_RELEASE names a checkout, or an unpacked package, of a version before, with
// its node_modules: then this version is the newer one, too.

const postgres = await startTestPostgres()
const skip = 'missing' in postgres ? postgres.missing : false
const next = fileURLToPath(new URL('../testing/next-version.mjs', import.meta.url))
const release = process.env.WARDER_OLD_RELEASE

interface Version {
  readonly name: string
  readonly program?: string
  readonly env?: Readonly<Record<string, string>>
}

const pairs: readonly (readonly [older: Version, newer: Version])[] = [
  [{ name: 'this version' }, { name: 'the next', env: { NODE_OPTIONS: `--import=${next}` } }],
  ...(release === undefined
    ? []
    : [
        [
          { name: release, program: join(release, 'packages', 'warder', 'bin', 'warder.mjs') },
          { name: 'this version' },
        ] as const,
      ]),
]

const foreign = query<[component: string, number: number], unknown>(
  "INSERT INTO schema_migration (component, number, name, checksum, applied_at) VALUES (?, ?, 'far ahead', 'x', 0)",
)
const newest = query<[component: string], { readonly number: number }>(
  'SELECT MAX(number) AS number FROM schema_migration WHERE component = ?',
)

/** Works without a pause until it is stopped. @returns rounds so far, and what ends it */
function load(user: NodeUser, sealed: object) {
  let rounds = 0
  let stopping = false
  const running = (async () => {
    while (!stopping) {
      const kid = await user.create()
      assert.equal(await user.decrypt(await user.encrypt(kid)), plaintext)
      assert.equal(await user.decrypt(sealed), plaintext)
      rounds += 1
    }
  })()
  return {
    rounds: () => rounds,
    stop() {
      stopping = true
      return running
    },
  }
}

for (const [older, newer] of pairs)
  test(`nodes of two versions work on one database: ${older.name} and ${newer.name}`, { skip }, async (t) => {
    assert.ok('database' in postgres)
    const kmsDatabase = await postgres.database()
    const env = {
      AUTH_DATABASE_URL: await postgres.database(),
      KMS_DATABASE_URL: kmsDatabase,
      AUTH_ISSUER: 'https://login.example',
    }
    const homes = [temporaryHome(), temporaryHome()] as const
    const running = new Set<Installation>()
    t.after(async () => {
      for (const node of running) await node.stop()
      for (const home of homes) rmSync(home, { recursive: true, force: true })
    })
    const start = async (home: string, { program, env: own }: Version): Promise<Installation> => {
      const node = await startInstallation({
        home,
        env: { ...env, ...own },
        ...(program !== undefined && { program }),
      })
      running.add(node)
      return node
    }
    const stop = async (node: Installation): Promise<void> => {
      running.delete(node)
      assert.equal(await node.stop(), 0, node.output())
    }

    const first = await start(homes[0], older)
    cpSync(homes[0], homes[1], {
      recursive: true,
      filter: (path) => !/\/(?:audit|endpoints\.json|.*\.lock|\.writable-.*)$/.test(path),
    })
    const token = await first.adminToken()
    const before = openNodeUser(first, token)
    const authority = await createAuthority(before)
    const sealed = await before.encrypt(await before.create())
    const loading = load(before, sealed)

    const second = await start(homes[1], newer)
    const [ann, newToken] = [await newUser(second, 'ann'), await second.adminToken()]
    // Each node takes the sessions that the other one began.
    const pairsOfUsers = [
      [openNodeUser(first, newToken), openNodeUser(second, token), openNodeUser(second, ann)],
      [openNodeUser(second, token), openNodeUser(first, newToken), openNodeUser(first, ann)],
    ] as const
    for (const [one, other, stranger] of pairsOfUsers) {
      await workTogether(one, other, stranger)
      await authority.revokeAt(one)
    }
    const seen = loading.rounds()
    await until('the older node goes on', () => loading.rounds() > seen + 10)
    await loading.stop()

    // A node of the older version may come back.
    await stop(first)
    const again = await start(homes[0], older)
    const back = openNodeUser(again, token)
    await workTogether(back, openNodeUser(second, newToken), openNodeUser(second, ann))
    await workTogether(openNodeUser(second, newToken), back, openNodeUser(again, ann))

    // A migration that says nothing of older programs ends the service that runs, and its start is refused.
    const db = await openPostgres({ url: kmsDatabase, readers: 1, writers: 1 })
    const number = ((await db.get(newest, ['kms']))?.number ?? 0) + 1
    await db.commit([change(foreign, ['kms', number])])
    await db.close()
    const ended = `migrated the database (kms: ${number}, far ahead), and this version is not compatible with that migration`
    for (const node of [again, second]) await until('the kms has ended', () => node.output().includes(ended))
    await Promise.all([again, second].map((node) => node.stop()))
    running.clear()
    await assert.rejects(
      start(homes[0], older),
      new RegExp(
        `the database is newer than this program: kms has migration ${number} \\(far ahead\\), but this program knows`,
      ),
    )
  })
