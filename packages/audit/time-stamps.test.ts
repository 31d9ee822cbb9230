import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { StartupError, systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { createPlainFetch } from '@warder/outbound'
import { loadRootKeys, migrate, openSeal, openSqlite, sealMigrations } from '@warder/storage'
import { openAuditLog } from './log.ts'
import { listSegments } from './segments.ts'
import { createTimestampAuthority, readTimestampAnchors, verifyTimestamps } from './time-stamps.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-time-stamps-'))
after(() => rmSync(room, { recursive: true, force: true }))
const openssl = (...args: string[]) => spawnSync('openssl', args, { cwd: room })
const skip = openssl('version').status === 0 ? false : 'openssl is not here'

/** An authority of OpenSSL: certificates, and what it answers. */
function authority() {
  writeFileSync(
    join(room, 'tsa.cnf'),
    `[tsa]\ndefault_tsa = t\n[t]\nserial = ${room}/serial\ndefault_policy = 1.2.3.4.1\ndigests = sha256\ness_cert_id_alg = sha256\nsigner_digest = sha256\n`,
  )
  writeFileSync(join(room, 'serial'), '01\n')
  writeFileSync(
    join(room, 'tsa.ext'),
    'extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature\n',
  )
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...ec, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Root', '-days', '30')
  openssl('req', '-new', ...ec, '-keyout', 'tsa.key', '-out', 'tsa.csr', '-subj', '/CN=Stamps')
  openssl(
    ...['x509', '-req', '-in', 'tsa.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...['-extfile', 'tsa.ext', '-out', 'tsa.pem', '-days', '30'],
  )
  return (query: Buffer): Buffer => {
    writeFileSync(join(room, 'query.tsq'), query)
    openssl(
      ...['ts', '-reply', '-config', 'tsa.cnf', '-section', 't', '-queryfile', 'query.tsq'],
      ...['-signer', 'tsa.pem', '-inkey', 'tsa.key', '-out', 'reply.tsr'],
    )
    return readFileSync(join(room, 'reply.tsr'))
  }
}

test('full files are stamped by an authority of OpenSSL, one that was away is asked again, and lies are not kept', {
  skip,
}, async (t) => {
  const answer = authority()
  let mode: 'away' | 'lies' | 'honest' = 'away'
  let asked = 0
  let earlier: Buffer | undefined
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      asked += 1
      assert.equal(request.headers['content-type'], 'application/timestamp-query')
      if (mode === 'away') return response.writeHead(503).end()
      const reply = answer(Buffer.concat(parts))
      earlier ??= reply
      response.writeHead(200, { 'content-type': 'application/timestamp-reply' })
      return response.end(mode === 'lies' ? earlier : reply)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const fetch = createPlainFetch({
    proxy: undefined,
    ...{ allowPrivateNetworks: true, ports: 'any' as const, maxRedirects: 0 },
    ...{ maxBytes: 65_536, timeoutMs: 20_000 },
  })
  const anchors = readTimestampAnchors(join(room, 'ca.pem'))
  const db = openSqlite({ path: join(room, 'seal.db') })
  t.after(() => db.close())
  await migrate(db, 'seal', sealMigrations)
  const rootKeys = loadRootKeys({ kind: 'file', path: join(room, 'root.key') }, {}, { create: true })
  const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })
  const folder = join(room, 'log')
  const record = async (count: number): Promise<void> => {
    const log = await openAuditLog({
      ...{ folder, service: 'kms', node: 'n1', mode: 'reject' as const, rotateBytes: 1500 },
      ...{
        clock: systemClock,
        log: quietLog,
        seal,
        timestamp: createTimestampAuthority(url, anchors, fetch),
      },
    })
    for (let index = 0; index < count; index += 1)
      await log.trail.recordDurably({
        ...{ time: Date.now(), request_id: '-', operation: 'crypto.sign', principal: 'alice' },
        ...{ auth_method: 'jwt', client_ip: '127.0.0.1', outcome: 'success', status: 200, duration_ms: 0 },
      })
    await log.whenIdle()
    await log.close()
  }
  const report = () => verifyTimestamps(folder, anchors)

  await record(10)
  const closed = report().without
  assert.ok(closed > 0 && asked >= closed)
  mode = 'honest'
  await record(0)
  assert.deepEqual([report().stamped, report().without, report().wrong], [closed, 0, []])
  assert.equal(report().newest?.authority, 'CN=Stamps')
  mode = 'lies'
  await record(10)
  assert.equal(report().stamped, closed, 'the token for another file is not kept')
  assert.ok(report().without > 0)

  const [first, second] = listSegments(folder)
  assert.ok(first?.signed !== undefined && second?.signed !== undefined)
  const place = join(folder, 'audit-0000000000000001.checkpoint')
  writeFileSync(place, JSON.stringify({ ...first.signed, timestamp: second.signed.timestamp }))
  assert.match(report().wrong[0]?.problem ?? '', /stamps other data/)
})

test('certificates that cannot be read are named', () => {
  const file = join(room, 'empty.pem')
  writeFileSync(file, 'nothing')
  for (const path of [file, join(room, 'missing.pem')])
    assert.throws(
      () => readTimestampAnchors(path),
      (error: unknown) => error instanceof StartupError && error.message.includes(path),
    )
})
