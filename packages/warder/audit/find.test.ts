import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AuditEvent, openAuditLog, preparedCommitMigrations, rememberNode } from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { startSharedKms } from '@warder/kms/testing'
import { migrate } from '@warder/storage'
import { runInProcess } from '../testing/in-process.ts'

const hostile = [
  'line\r\nbreak\tand tab',
  '\u001b[2J\u001b]0;title\u0007\u001b[31mred',
  '\u009b31mC1\u0090',
  '\u202eevil\u202c \u2066isolated\u2069',
  'zero\u200bwidth\u2028separator\u2029\ufeff',
  '=HYPERLINK("http://evil","x")',
  '+1\'"',
  '-2+3',
  '@SUM(A1)',
  '\t=1+1',
  '\uff1d1',
  ' =1',
  '"quoted", and, commas\n=second',
  '\u007fdel\b\b\b',
  '\u{e0041}\u{e0042}tags',
]
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

const firstTime = Date.parse('2026-01-01T00:00:00Z')
let written = 0
const kms = await startSharedKms({
  config: { 'roles.crypto_officer_users': ['olga'], outbound_ca_file: 'tls/ca.crt' },
})
await write(
  'n1',
  Array.from({ length: 40 }, (_, index) => ({
    principal: index % 2 === 0 ? 'alice' : 'bob',
    operation: index % 5 === 0 ? 'crypto.sign' : 'crypto.encrypt',
    object: `key-${index % 7}`,
    client_ip: `192.0.2.${index % 3}`,
    request_id: `request-${index}`,
    ...(index % 10 === 3 && { outcome: 'failure' as const, status: 403, reason: 'forbidden' }),
    details: { note: index === 20 ? 'Needle in a haystack' : 'hay' },
  })),
)
for (const [index, text] of hostile.entries())
  await write(text, [
    {
      ...{ principal: text, operation: `hostile.${text}`, object: text, client_ip: text, request_id: text },
      ...{ auth_method: text, realm: text, algorithm: text, reason: text, outcome: 'failure', status: 400 },
      details: { [text]: text, list: [text], index },
    },
  ])

async function write(node: string, events: readonly Partial<AuditEvent>[]): Promise<void> {
  const log = await openAuditLog({
    ...{ folder: join(kms.home, 'audit', 'kms'), service: 'kms', mode: 'continue', node },
    ...{ rotateBytes: 1_000_000, clock: systemClock, log: quietLog, seal: kms.environment.seal },
  })
  for (const event of events) {
    const base = { auth_method: 'jwt', outcome: 'success', status: 200, duration_ms: 1 } as const
    const texts = { request_id: '-', principal: 'alice', operation: 'crypto.encrypt', client_ip: '192.0.2.1' }
    log.trail.record({ ...base, ...texts, time: firstTime + written * 1000, ...event })
    written += 1
  }
  await log.trail.flush()
  await log.whenIdle()
  await log.close()
}

const run = (verb: string, words: readonly string[], user: string) =>
  runInProcess(
    kms,
    [
      ...['audit', verb, '--url', `https://localhost:${kms.port}`],
      ...['--ca-file', join(kms.home, 'tls', 'ca.crt'), ...words],
    ],
    { token: kms.token({ sub: user }) },
  )
const find = (words: readonly string[], user = 'olga') => run('find', words, user)

async function findJson(...words: readonly string[]) {
  const { code, out, err } = await find([...words, '--json'])
  assert.deepEqual([code, err], [0, ''])
  return JSON.parse(out)
}

test('count prints the records and failures of each interval', async () => {
  const since = ['--since', '2026-01-01T00:00:00Z', '--until', '2026-01-01T00:00:40Z']
  const count = (...words: readonly string[]) => run('count', [...since, ...words], 'olga')
  const all = await count()
  assert.deepEqual([all.code, all.err], [0, ''])
  assert.match(all.out, /^FROM +RECORDS +FAILURES\n2026-01-01T00:00:00\.000Z +40 +4$/)
  const some = await count('--principal', 'bob', '--operation', 'crypto.*', '--step', 'day', '--json')
  const buckets = [{ start: '2026-01-01T00:00:00.000Z', records: 20, failures: 4 }]
  assert.deepEqual(JSON.parse(some.out), { buckets, gaps: [] })
  const recent = await run('count', ['--operation', 'crypto.sign'], 'olga')
  assert.match(recent.out, /no records match/)
  for (const words of [
    ['--step', 'minute'],
    ['--principal', ''],
    ['--key', ''],
    ['--service', 'x'],
    ['name'],
  ])
    assert.equal((await count(...words)).code, 2, words.join(' '))
  const long = await run('count', ['--since', '42d'], 'olga')
  assert.deepEqual([long.code, /1000 hours apart: use --step day/.test(long.err)], [2, true], long.err)
  assert.equal((await run('count', ['--since', '42d', '--step', 'day'], 'olga')).code, 0)
  const refused = await run('count', since, 'mallory')
  assert.equal(refused.code, 1)
  assert.match(refused.err, /grant-audit/)
})

test('each filter selects records, newest first', async () => {
  const numbers = (test: (index: number) => boolean) =>
    Array.from({ length: 40 }, (_, index) => 39 - index).filter(test)
  for (const [words, expected] of [
    [['--principal', 'alice', '--operation', 'crypto.*'], numbers((index) => index % 2 === 0)],
    [['--operation', 'crypto.sign'], numbers((index) => index % 5 === 0)],
    [['--key', 'key-3'], numbers((index) => index % 7 === 3)],
    [['--outcome', 'failure', '--principal', 'bob'], numbers((index) => index % 10 === 3)],
    [['--address', '192.0.2.2'], numbers((index) => index % 3 === 2)],
    [['--request', 'request-17'], [17]],
    [['--text', 'needle IN'], [20]],
    [
      ['--since', '2026-01-01T00:00:10Z', '--until', '2026-01-01T00:00:13Z'],
      [12, 11, 10],
    ],
    [['--since', '1h', '--principal', 'alice'], []],
  ] as const) {
    const { records, next, gaps } = await findJson(...words)
    const found = records.map(({ request_id: id }: { request_id: string }) => Number(id.slice(8)))
    assert.deepEqual([found, next, gaps], [expected, null, []], words.join(' '))
  }
})

test('the table has one line for each record, and the command of the next page', async () => {
  const { code, out } = await find(['--operation', 'crypto.*', '--since', '9999d', '--limit', '4'])
  assert.equal(code, 0)
  const [head = '', ...lines] = out.split('\n')
  assert.match(head, /^TIME +PRINCIPAL +OPERATION +OBJECT +ADDRESS +OUTCOME$/)
  assert.match(
    lines[0] ?? '',
    /^2026-01-01T00:00:39\.000Z {2}bob +crypto\.encrypt +key-4 +192\.0\.2\.0 +success$/,
  )
  const more = /^there are more: warder audit find (.*)$/.exec(lines.at(-1) ?? '')?.[1] ?? ''
  assert.equal(lines.length, 6)
  const times: string[] = []
  for (let page = out, words = more; ; ) {
    times.push(...page.split('\n').flatMap((line) => /^2026\S+/.exec(line) ?? []))
    if (words === '') break
    // As a shell splits it.
    const next = await find([...words.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word))
    assert.equal(next.code, 0, next.err)
    page = next.out
    words = /there are more: warder audit find (.*)$/.exec(page)?.[1] ?? ''
  }
  assert.deepEqual(times, times.toSorted().reverse())
  assert.equal(times.length, 40)
  assert.equal(new Set(times).size, 40)
  assert.match((await find(['--principal', 'carol'])).out, /^no records match$/)
  assert.match((await find(['--outcome', 'failure', '--key', 'key-3'])).out, /403 forbidden$/)
})

test('texts of records change neither the terminal nor the lines of the table', async () => {
  const { code, out, err } = await find(['--operation', 'hostile.*'])
  assert.deepEqual([code, err], [0, ''])
  const lines = out.split('\n')
  assert.equal(lines.length, hostile.length + 1)
  for (const line of lines) assert.doesNotMatch(line, unsafe)
  // The same texts as filters, which the service records, too.
  for (const text of hostile) {
    const { records } = await findJson('--principal', text, '--address', text, '--key', text)
    assert.deepEqual(
      records.map((record: AuditEvent) => [record.principal, record.details]),
      [[text, { [text]: text, list: [text], index: hostile.indexOf(text) }]],
    )
    const { out: json } = await find(['--request', text, '--json'])
    for (const line of json.split('\n')) assert.doesNotMatch(line, unsafe)
  }
})

test('a long text is cut in the table', async () => {
  await write('n1', [{ principal: 'p'.repeat(900), operation: 'long.text' }])
  const { out } = await find(['--operation', 'long.text'])
  assert.ok(out.split('\n').every((line) => line.length < 250))
  assert.equal((await findJson('--operation', 'long.text')).records[0].principal.length, 900)
})

test('a spreadsheet reads no formula and no further row from CSV', async () => {
  const { code, bytes, out, err } = await find(['--operation', 'hostile.*', '--csv'])
  assert.deepEqual([code, out, err], [0, '', ''])
  const rows = bytes.toString().trimEnd().split('\r\n')
  assert.equal(rows.length, hostile.length + 1)
  assert.match(rows[0] ?? '', /^time,node,service,seq,operation,/)
  for (const row of rows.slice(1)) {
    assert.doesNotMatch(row, unsafe)
    const cells = [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
    )
    assert.equal(cells.length, 19, row)
    for (const cell of cells) assert.doesNotMatch(cell, /^\s*[=+\-@\uff1d]/u)
  }
  const part = await find(['--operation', 'hostile.*', '--csv', '--limit', '2'])
  assert.equal(part.bytes.toString().trimEnd().split('\r\n').length, 3)
  assert.match(part.err, /there are more: .* --csv/)
})

test('wrong arguments are refused before the login, and callers without the right by the service', async () => {
  for (const [words, told] of [
    [['--limit', '0'], /--limit must be 1 to 100000/],
    [['--limit', '100001'], /--limit must be/],
    [['--outcome', 'maybe'], /--outcome must be success or failure/],
    [['--since', 'yesterday'], /--since must be a time/],
    [['--service', 'pki'], /--service must be auth or kms/],
    [['--principal', ''], /--principal is empty/],
    [['--csv', '--json'], /--csv and --json exclude each other/],
    [['more'], /unknown argument: more/],
  ] as const) {
    const { code, err } = await find(words)
    assert.equal(code, 2, words.join(' '))
    assert.match(err, told)
  }
  const refused = await find(['--principal', 'alice'], 'bob')
  assert.deepEqual([refused.code, refused.out], [1, ''])
  assert.match(refused.err, /Access denied\. Crypto officers .*grant-audit USER/)
  assert.match((await find(['--after', 'AAAA'])).err, /after is not the cursor/)
  assert.match((await find(['--service', 'auth'])).err, /give --auth-url/)
})

test('missing nodes are named on standard error with exit code 1, until they are forgotten', async () => {
  const { db, seal } = kms.environment
  await migrate(db, 'audit', preparedCommitMigrations)
  const node = 'red\u202e\u200b/dark'
  await db.commit(rememberNode({ log: 'retired:/home', node, address: '' }, Date.now(), seal))
  const words = ['--request', 'request-17']
  const missing = await find(words)
  assert.equal(missing.code, 1)
  assert.match(missing.err, /^the records of node red.* are missing: node_url is not set there$/)
  assert.doesNotMatch(missing.err, unsafe)
  assert.match(missing.out, /^TIME +NODE +PRINCIPAL.*\n2026\S+ +n1 +bob /)
  const json = await find([...words, '--json'])
  assert.deepEqual([json.code, JSON.parse(json.out).gaps.length], [1, 1])
  const csv = await find([...words, '--csv'])
  assert.deepEqual([csv.code, csv.err, csv.bytes.toString().split('\r\n').length], [1, missing.err, 3])

  assert.match((await run('forget-node', [node, '--yes'], 'bob')).err, /forbidden/)
  assert.match((await run('forget-node', [node], 'olga')).err, /--yes/)
  assert.match((await run('forget-node', ['unknown', '--yes'], 'olga')).err, /No node of this name/)
  assert.equal((await run('forget-node', ['..', '--yes'], 'olga')).code, 2)
  const forgotten = await run('forget-node', [node, '--yes'], 'olga')
  assert.deepEqual([forgotten.code, unsafe.test(forgotten.out)], [0, false])
  assert.deepEqual((({ code, err }) => [code, err])(await find(words)), [0, ''])
})

test('the pages of a node that sends no records and no end are not followed for ever', async () => {
  const { db, seal } = kms.environment
  await migrate(db, 'audit', preparedCommitMigrations)
  const [cert, key] = ['kms.crt', 'kms.key'].map((name) => readFileSync(join(kms.home, 'tls', name)))
  let pages = 0
  const liar = createServer({ cert, key }, (_request, response) => {
    pages += 1
    response.end(JSON.stringify({ lines: [], problems: [], next: 1_000_000 - pages, reached: firstTime }))
  })
  await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
  const log = { log: 'liar:/home', node: 'liar' }
  try {
    const address = `https://localhost:${(liar.address() as AddressInfo).port}`
    await db.commit(rememberNode({ ...log, address }, Date.now(), seal))
    for (const form of [[], ['--json'], ['--csv']]) {
      pages = 0
      const { code, out, err } = await find(['--principal', 'nobody', ...form])
      assert.equal(code, 1)
      assert.equal(pages, 300)
      assert.match(
        err,
        /^the search was stopped after 300 pages without a record \(searched back: liar to 2026-01-01T\S+\): --since bounds it, --after continues it$/m,
      )
      if (form[0] === '--json') assert.equal(typeof JSON.parse(out).next, 'string')
      else assert.match(form[0] === '--csv' ? err : out, /there are more: warder audit find .*--after /)
    }
  } finally {
    liar.closeAllConnections()
    liar.close()
    assert.equal((await run('forget-node', ['liar', '--yes'], 'olga')).code, 0)
  }
})
