import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { systemClock } from '@warder/base'
import { createEndedWriter, follow } from '@warder/identity'
import { createEndedMemory } from '@warder/identity/testing'
import { createOutbound } from '@warder/outbound'
import { createRemoteKeySet } from '@warder/server'
import { openSqlite, query } from '@warder/storage'
import { type Installation, startInstallation, temporaryHome } from 'warder/testing'
import { startLoadClient } from '../load/client.ts'
import { type DriveOptions, drive, type Target } from '../load/drive.ts'
import { median } from '../median.ts'
import { prepareScenarios } from '../scenarios.ts'
import { measureCost } from '../server/cost.ts'
import { pin, pinning } from '../server/pin.ts'

/**
 * Measures the cost of cutting off at once: processor time of `encrypt` at a kms that follows a feed with so many ended sessions, to
 * that at one that follows none, in turn; how long a follower takes to read the feed from its beginning, and its memory;
 * and what the first request after a commit pays to see whether the list of blocked users is another one.
 *
 * Run: `node bench/kms/ended.ts [--entries 1000000] [--rounds 7] [--seconds 1.5]`
 */
const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '1.5' },
  },
})
const entries = Number(values.entries)
const options: DriveOptions = { seconds: Number(values.seconds), warmupSeconds: 0.5, connections: 32 }
const secret = randomBytes(32).toString('base64url')
const oneWorker = { AUTH_WORKERS: '1', KMS_WORKERS: '1', KMS_AUTH_FEED_MAX_ENTRIES: String(entries + 1000) }
const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Sessions that ended, by statements of the database alone. */
function seedFeed(home: string): void {
  const db = new DatabaseSync(join(home, 'auth.db'))
  const until = Math.floor(Date.now() / 1000) + 86_400
  db.exec('PRAGMA synchronous = OFF')
  db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${entries})
    INSERT INTO ended (seq, kind, subject, realm_id, username, ended_at, until_at, reason)
    SELECT i, 'session', printf('%08x-%04x-4%03x-8%03x-%012x', (i * 2654435761) & 4294967295, i & 65535, i & 4095, i & 4095, i),
      '_', printf('user%08d', i), ${until - 86_400}, ${until}, 'deleted' FROM n`)
  db.exec(`UPDATE ended_head SET seq = ${entries}`)
  db.close()
}

/** Follows the feed from its beginning, in this process. */
async function timeOfFollower(warder: Installation): Promise<void> {
  const config = {
    auth_feed_when_lost: 'refuse',
    auth_feed_max_age_secs: 60,
    auth_feed_max_entries: entries + 1000,
  } as const
  const memory = createEndedMemory(config.auth_feed_max_entries)
  const outbound = createOutbound({
    proxy: undefined,
    allowPrivateNetworks: true,
    caFile: warder.caFile,
    timeoutMs: 15_000,
    maxBytes: 8 * 2 ** 20,
  })
  const say = (_fields: object, message: string): void => print(message)
  const log = { debug: say, info: say, warn: say, error: say, child: () => log }
  const url = `${warder.authUrl}/.well-known/jwks.json`
  const keys = createRemoteKeySet({ url, outbound, clock: systemClock, log })
  const cpuOfAuth = () => measureCost([warder.pid('auth')]).cpuSeconds
  const [began, own, auth] = [performance.now(), process.cpuUsage(), cpuOfAuth()]
  const follower = follow({
    source: {
      url: warder.authUrl,
      outbound,
      keys,
      clock: systemClock,
      headers: () => ({ 'x-warder-peer': secret }),
    },
    writer: createEndedWriter(memory, config, systemClock),
    nameOf: (_realm, username) => username,
    endNames: async () => undefined,
    endVotes: () => Promise.resolve(),
    clock: systemClock,
    log,
  })
  await follower.ready(60_000)
  const { user, system } = process.cpuUsage(own)
  print(
    `${entries} entries: read in ${((performance.now() - began) / 1000).toFixed(2)} s ` +
      `(processor time: ${((user + system) / 1e6).toFixed(2)} s here, ${(cpuOfAuth() - auth).toFixed(2)} s of auth), ` +
      `${(memory.byteLength / 2 ** 20).toFixed(1)} MiB for all workers`,
  )
  await follower.stop()
}

const blockHead = query<[key: string], { readonly version: number }>(
  'SELECT version FROM access_block_head WHERE name = ?',
)

/**
 * Processor time of one check of the head of the list of blocked users, in microseconds: the minimum of some rounds.
 */
async function microsecondsOfLook(home: string): Promise<number> {
  const db = openSqlite({ path: join(home, 'kms.db') })
  const looks = 200_000
  const look = () => {
    const began = process.cpuUsage()
    for (let count = 0; count < looks; count += 1) db.get(blockHead, ['all'])
    const { user, system } = process.cpuUsage(began)
    return (user + system) / looks
  }
  look()
  const found = Math.min(look(), look(), look())
  await db.close()
  return found
}

const home = temporaryHome()
const load = startLoadClient()
await (await startInstallation({ home, env: oneWorker })).stop()
seedFeed(home)
const following = await startInstallation({ home, env: { ...oneWorker, WARDER_PEER_SECRET: secret } })
const alone = await startInstallation({ env: { ...oneWorker, WARDER_PEER_SECRET: '' } })
try {
  await timeOfFollower(following)
  const pinned = pinning()
  if (pinned !== undefined) pin(load.pid, pinned.load)
  const createTarget = async (warder: Installation): Promise<Target> => {
    const kms = warder.client('kms')
    const scenarios = await prepareScenarios(warder, kms, 'https://127.0.0.1:1')
    kms.close()
    const scenario = scenarios.find(({ name }) => name === 'encrypt A256GCM 64 B')
    if (scenario === undefined) throw new Error('no such scenario')
    const pid = warder.pid('kms')
    if (pinned !== undefined) pin(pid, pinned.servers)
    return { scenario, pid, caFile: warder.caFile }
  }
  const [withFeed, without] = [await createTarget(following), await createTarget(alone)]
  for (const target of [withFeed, without]) await drive(load, target, { ...options, warmupSeconds: 3 })
  const ratios: number[] = []
  const costs: number[] = []
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const one = await drive(load, withFeed, options)
    const other = await drive(load, without, options)
    costs.push((one.cpuSeconds / one.requests) * 1e6)
    ratios.push(one.cpuSeconds / one.requests / (other.cpuSeconds / other.requests))
  }
  print(`encrypt with the feed: ${median(ratios).toFixed(3)} times the processor time without it`)
  const look = await microsecondsOfLook(home)
  print(
    `a look at the blocked users, after a commit: ${look.toFixed(2)} µs, ${((100 * look) / Math.min(...costs)).toFixed(1)} % of an encrypt`,
  )
} finally {
  load.close()
  await following.stop()
  await alone.stop()
  rmSync(home, { recursive: true, force: true })
}
