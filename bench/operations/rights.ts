import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openAuditLog } from '@warder/audit'
import { systemClock } from '@warder/base'
import { isAnyRightChangePending, recordRights } from '@warder/keys'
import { type Started, startKms } from '@warder/kms/testing'
import { openPostgres, openSqlite, query } from '@warder/storage'
import { median } from '../median.ts'

/**
 * Measures `encrypt` by the right of a group against a direct grant, before and after many grants exist, and the report
 * of rights over all of them: the whole CSV, first pages, and the growth of memory. Then the report at a date: after the
 * grants, and before them, so that all of them are undone. Server and client are one process.
 *
 * Run: `node bench/operations/rights.ts [--grants 1000000] [--groups 10000] [--pairs 31]`; with `POSTGRES_URL` in the
 * environment, in that empty database.
 */
const { values } = parseArgs({
  options: {
    grants: { type: 'string', default: '1000000' },
    groups: { type: 'string', default: '10000' },
    pairs: { type: 'string', default: '31' },
  },
})
const [grants, groups, pairs] = [Number(values.grants), Number(values.groups), Number(values.pairs)]
const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Grants on a key: eight to users, two to groups of five. */
const grantsOfKey = 10
const membersOfGroup = 5
const users = 20_000
/** Groups that each of the two users of the comparison is in. */
const ownGroups = 20

const url = process.env.POSTGRES_URL
const folder = mkdtempSync(join(tmpdir(), 'warder-rights-'))
const db = url === undefined ? openSqlite({ path: join(folder, 'kms.db') }) : await openPostgres({ url })
const isSqlite = db.dialect === 'sqlite'

/** Inserts rows for the numbers 0 to count - 1, in commits of bounded size. */
async function insert(count: number, into: string): Promise<void> {
  const block = 50_000
  const series = isSqlite
    ? 'WITH RECURSIVE n(i) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < ?)'
    : 'WITH n AS (SELECT i FROM generate_series(CAST(? AS BIGINT), CAST(? AS BIGINT)) AS g(i))'
  const statement = query<[number, number]>(`${series} INSERT INTO ${into} FROM n`)
  for (let from = 0; from < count; from += block) {
    const params: [number, number] = [from, Math.min(from + block, count) - 1]
    await db.commit([{ query: statement as never, params }])
  }
}

async function fill(): Promise<void> {
  const now = Date.now()
  const pad = (number: string): string =>
    isSqlite ? `printf('%012d', ${number})` : `lpad(CAST(${number} AS TEXT), 12, '0')`
  await insert(
    grants / grantsOfKey,
    `managed_object (id, object_type, algorithm, bits, state, owner, usage_mask, created_at, changed_at, form, version)
       SELECT ${pad('i')}, 'SymmetricKey', 'AES', 256, 'Active', 'owner-' || (i % 500), 12, ${now}, ${now}, '{}', 1`,
  )
  await insert(
    groups,
    `access_group (id, created_by, created_at, changed_at, version) SELECT 'group:g' || i, 'admin', ${now}, ${now}, 1`,
  )
  const [group, member] = [`'group:g' || (i / ${membersOfGroup})`, `'user-' || (i * 7919 % ${users})`]
  const members = `SELECT ${group}, ${member}, ${member}, '', ''`
  const count = groups * membersOfGroup
  await insert(count, `access_group_member (group_id, member, lookup, head, tail) ${members}`)
  await insert(count, `access_membership (lookup, group_id, head, tail) SELECT ${member}, ${group}, '', ''`)
  for (const user of ['bob', 'carol'])
    await insert(
      Math.min(ownGroups, groups),
      `access_membership (lookup, group_id, head, tail) SELECT '${user}', 'group:g' || i, '', ''`,
    )
  const grantee = `CASE WHEN i % ${grantsOfKey} < 8 THEN 'user-' || (i * 31 % ${users})
    ELSE 'group:g' || (i * 7 % ${groups}) END`
  const right = `CASE i % 2 WHEN 0 THEN 'encrypt' ELSE 'decrypt' END`
  await insert(
    grants,
    `object_grant (object_id, user_id, operation) SELECT ${pad(`i / ${grantsOfKey}`)}, ${grantee}, ${right}`,
  )
}

/**
 * @returns the median ratio of the requests by the group's right to those by the direct grant, in the same processor time
 *   of the process: other programs on the machine change it less than the time of a clock
 */
async function compare(kms: Started, kid: string): Promise<number> {
  const body = { kid, alg: 'dir', enc: 'A256GCM', data: 'eA' }
  const time = async (user: string): Promise<number> => {
    const caller = kms.user(user)
    const began = process.cpuUsage()
    for (let round = 0; round < 25; round += 1) {
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => caller.post('/v1/crypto/encrypt', body)),
      )
      if (replies.some(({ status }) => status !== 200)) throw new Error(`${user}: ${replies[0]?.text}`)
    }
    const { user: own, system } = process.cpuUsage(began)
    return own + system
  }
  for (const user of ['bob', 'carol', 'bob', 'carol']) await time(user)
  const ratios: number[] = []
  for (let pair = 0; pair < pairs; pair += 1) {
    const [first, second] = pair % 2 === 0 ? ['bob', 'carol'] : ['carol', 'bob']
    const one = await time(first)
    const other = await time(second)
    ratios.push(first === 'bob' ? other / one : one / other)
  }
  return median(ratios)
}

/** Reads the CSV without keeping it. @returns its rows, bytes and seconds */
function readCsv(kms: Started, filter = '') {
  const began = performance.now()
  return new Promise<{ rows: number; bytes: number; seconds: number; heap: number }>((resolve, reject) => {
    const options = {
      ...{ host: 'localhost', port: kms.port, ca: kms.ca, path: `/access/report/csv${filter}` },
      headers: { authorization: `Bearer ${kms.token({ sub: 'admin' })}` },
    }
    request(options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
      let rows = -1
      let bytes = 0
      let heap = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        for (const byte of chunk) if (byte === 10) rows += 1
        heap = Math.max(heap, process.memoryUsage().heapUsed)
      })
      response.on('error', reject)
      response.on('end', () => resolve({ rows, bytes, seconds: (performance.now() - began) / 1000, heap }))
    })
      .on('error', reject)
      .end()
  })
}

async function measureCsv(kms: Started, what: string, filter = ''): Promise<void> {
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const used = process.cpuUsage()
  const { rows, bytes, seconds, heap } = await readCsv(kms, filter)
  const { user, system } = process.cpuUsage(used)
  const mib = (amount: number): string => (amount / 2 ** 20).toFixed(0)
  print(
    `${what}: ${rows} rows, ${mib(bytes)} MiB in ${seconds.toFixed(1)} s (processor ${((user + system) / 1e6).toFixed(1)} s); heap ${mib(before)} MiB before, at most ${mib(heap)} MiB`,
  )
}

async function report(kms: Started): Promise<void> {
  await measureCsv(kms, 'CSV')
  for (const path of ['', '?way=group', '?user_id=user-7', '?unique_identifier=000000000007', '?way=tag']) {
    const began = performance.now()
    const { status, json, text } = await kms.user('admin').get(`/access/report${path}`)
    if (status !== 200) throw new Error(text)
    print(`page ${path || '(all)'}: ${json.length} rows in ${(performance.now() - began).toFixed(0)} ms`)
  }
}

/** Writes the changes of rights to the audit log of the home. */
async function recordChanges({ home, environment }: Started): Promise<void> {
  const { node, seal } = environment
  const log = await openAuditLog({
    ...{ folder: join(home, 'audit', 'kms'), service: 'kms', mode: 'continue', node, rotateBytes: 2 ** 26 },
    ...{ clock: systemClock, log: environment.log, seal },
  })
  const began = performance.now()
  while (await isAnyRightChangePending(db)) await recordRights({ db, audit: log.trail, clock: systemClock })
  print(`changes of rights recorded in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  await log.whenIdle()
  await log.close()
}

try {
  await using kms = await startKms({ db })
  const alice = kms.user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  await alice.call('PUT', '/access/groups/bench', { json: { members: ['bob'] } })
  for (const user_id of ['group:bench', 'carol'])
    await alice.post('/access/grant', { unique_identifier: kid, user_id, operation_types: ['encrypt'] })
  print(`encrypt, group / direct: ${(await compare(kms, kid)).toFixed(3)} with two grants`)
  const first = new Date().toISOString()
  const began = performance.now()
  await fill()
  print(`${grants} grants, ${groups} groups: filled in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  print(`encrypt, group / direct: ${(await compare(kms, kid)).toFixed(3)} with all grants`)
  await report(kms)
  await recordChanges(kms)
  for (const time of [new Date().toISOString(), first])
    for (const what of ['first', 'again']) await measureCsv(kms, `as of ${time}, ${what}`, `?as_of=${time}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
